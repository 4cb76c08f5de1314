# assumptions.awk FILE...: what the model assumes where papers and manuals are silent: every ASSUMPTION of parameter
# tables (*.def), machines (*.yaml) and code, as the page docs/assumptions.md without its head.
#
# What is assumed is one sentence of a comment: the one with the word, after the one that it belongs to when it begins
# with the word.

function trimmed(text) {
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

# The word is what the page is about: it goes where it says nothing more.
function plain(text) {
    text = trimmed(text)
    sub(/[;,.:]? *\(?ASSUMPTION\)?\.?$/, "", text)
    gsub(/ASSUMPTION: /, "", text)
    sub(/ASSUMPTION[;,] /, "", text)
    gsub(/\|/, "\\|", text)
    text = trimmed(text)
    sub(/\.$/, "", text)
    return text
}

function row(kind, where, text) {
    text = plain(text)
    if (text != "") rows[kind] = rows[kind] "| `" where "` | " text " |\n"
}

# The sentences of a comment that assume something.
function comment(text,    n, k, s) {
    n = split(trimmed(text), s, /\. /)
    for (k = 1; k <= n; k++) {
        if (s[k] !~ /ASSUMPTION/) continue
        if (s[k] ~ /^\(?ASSUMPTION/ && s[k - 1] != "") row("code", place, s[k - 1] ": " s[k])
        else row("code", place, s[k])
    }
}

FNR == 1 { section = ""; inside = 0 }

FILENAME ~ /\.def$/ && /ASSUMPTION/ && /\(/ && /"/ {
    split($0, name, /[(,]/)
    help = $0
    sub(/"\)[ \\]*$/, "", help)
    sub(/^.*"/, "", help)
    gsub(/ /, "", name[2])
    gsub(/ /, "", name[3])
    if ($0 ~ /^UNIT_ROWS/) row("parameters", "unit." name[2] "_*", help)
    else row("parameters", (name[2] == "section" ? "net" : name[2]) "." name[3], help)
}

FILENAME ~ /\.yaml$/ {
    if ($0 ~ /^[a-z_0-9]+:/) { section = $1; sub(/:.*/, "", section) }
    if ($0 !~ /ASSUMPTION/) next
    machine = FILENAME
    sub(/^.*\//, "", machine)
    sub(/\.yaml$/, "", machine)
    text = $0
    sub(/^[^#]*# */, "", text)
    key = $0
    sub(/ *#.*/, "", key)
    key = trimmed(key)
    if (key != section ":" && key != "" && $0 ~ /^ /) key = section "." key
    if (key == "" || key == section ":") key = section
    sub(/: /, "=", key)
    # a value whose comment says no more is assumed as it is
    if (plain(text) == "") text = "this value"
    row("machines", machine ": " key, text)
}

# Comments of code, which may take several lines.
FILENAME ~ /\.[ch]$/ && FILENAME !~ /_test\.c$/ {
    line = $0
    if (!inside && line ~ /\/\*/) {
        inside = 1
        text = ""
        sub(/^.*\/\*/, "", line)
        place = FILENAME
        sub(/^src\//, "", place)
    }
    if (!inside) next
    ends = line ~ /\*\//
    sub(/\*\/.*$/, "", line)
    sub(/^ *\* ?/, "", line)
    if (line ~ /^ *$/) line = ". " # a paragraph ends
    if (line !~ /[─►]/) text = text " " line
    if (!ends) next
    inside = 0
    comment(text)
}

END {
    printf "\n## Parameters\nTheir defaults; machines may set them otherwise.\n\n| parameter | what is assumed |\n|---|---|\n%s", rows["parameters"]
    printf "\n## Machines\n\n| machine and key | what is assumed |\n|---|---|\n%s", rows["machines"]
    printf "\n## Code\n\n| file in `src/` | what is assumed |\n|---|---|\n%s", rows["code"]
}
