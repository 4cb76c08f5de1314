#!/bin/sh
# The HTML report: complete in one file, right in a browser (headless Chromium), light and dark, with the keyboard.
. tests/cli/lib.sh
cat > "$dir/r.yaml" << 'YAML'
title: A report & its <parts>
paper: NUBA
machines: [uba-mem, {name: wide, machine: uba-mem, set: {net.width: 64 B}}, v100]
workloads: {easy: [vecadd:n=2048, vecadd:n=4096], hard: [sgemm:tiny]}
axes: [{param: gpu.llc_size, base: 6 MiB, values: [3 MiB, 6 MiB]}]
set: {runtime.start_skew_cyc: 50}
seeds: [1, 2]
metrics:
  - {name: speedup, value: totals.seconds, relative: speedup}
  - {name: hits, value: 100 * stats.llc.read_hit_rate, unit: "%"}
  - {name: misses, value: 100 - 100 * stats.llc.read_hit_rate, unit: "%"}
figures:
  - {title: Bars, where: Fig. 1, metric: speedup, plot: bars}
  - {title: Lines, metric: speedup, plot: lines, x: gpu.llc_size}
  - {title: By group, metric: hits, plot: lines, x: gpu.llc_size, series: group, machine: wide}
  - {title: Stacks, metrics: [hits, misses], plot: stacked}
  - {title: Stacks of one, metrics: [hits, misses], plot: stacked, machine: wide}
  - {title: Spread, metric: speedup, plot: distribution}
  - {title: Cloud, metrics: [hits, speedup], plot: scatter}
  - {title: Curves, metric: hits, plot: sorted}
claims:
  - {id: "T<0>", says: far from one, of: wide, published: "< 900 %"}
  - {id: T1, says: far away, of: wide, published: 900 %}
  - {id: T2, order: v100 < uba-mem}
  - {id: T3, says: known, of: v100, published: 900 %, why: {text: v100 has launch gaps, command: atoll run -m v100 -w vecadd}}
YAML
"$ATOLL" sweep "$dir/r.yaml" --db "$dir/r.db" --html "$dir/r.html" > "$dir/log" 2>&1
holds "the report is written" grep -q "report: $dir/r.html" "$dir/log"
holds "the page needs nothing else" python3 - "$dir/r.html" << 'PY'
import re, sys
from html.parser import HTMLParser
text = open(sys.argv[1], encoding="utf-8").read()
assert not re.search(r"(src|href)=[\"'](https?:|//|file:)", text), "something is loaded"
assert "url(" not in text and "@import" not in text
assert "A report &amp; its &lt;parts&gt;" in text and "<parts>" not in text
assert "prefers-color-scheme: dark" in text and "@media print" in text
class Check(HTMLParser):
    """Every element that is opened is closed, in order."""
    void = {"meta", "br", "link", "hr", "img", "input"}
    def __init__(self):
        super().__init__()
        self.stack, self.seen = [], {}
    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in self.void:
            self.stack.append(tag)
    def handle_startendtag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
    def handle_endtag(self, tag):
        assert self.stack and self.stack.pop() == tag, (tag, self.getpos())
c = Check()
c.feed(text)
assert not c.stack, c.stack
assert c.seen["figure"] >= 10 and c.seen["svg"] == c.seen["figure"], c.seen
for part in ("Bars", "Fig. 1", "Lines", "Stacks", "Spread", "Cloud", "3 MiB, easy: ", "6 MiB, hard: ", "T&lt;0&gt;", "bound holds", "harmonic mean", "easy mean", "order holds", "differs", "published 10.00",
             "atoll run -m uba-mem -w", "--details", "v100 has launch gaps", "traffic between partitions", "how busy its parts are",
             "atoll sweep", "confidence intervals over seeds", "the numbers"):
    assert part in text, part
one = text[text.index(">Stacks of one"):text.index(">Spread")]
assert "wide, misses" in one or "sgemm:tiny, misses" in one, one[:400]
assert "v100" not in one and "uba-mem" not in one
PY
expect 0 "report: $dir/c.html" "$ATOLL" compare -m uba-mem,v100 -w vecadd:n=2048,sgemm:tiny --html "$dir/c.html"
holds "compare writes the same kind of page" grep -q "harmonic mean" "$dir/c.html"

# applications that share a machine: a table per mix, the partition over epochs
cat > "$dir/mix.yaml" << YAML
title: Mixes
machines:
  - {name: fixed, machine: ugpu-bp}
  - {name: Ori, machine: ugpu-ori, set: {pages.fault_cyc: 1000, partition.policy: plan, partition.plan: "40/16,40/16;20/8,60/24"}}
workloads: ["triad:tiny+hotspot:tiny", "vecadd:n=2048"]
set: {apps.alone: true, apps.alone_dir: $dir/alone, partition.epoch_cyc: 5000, apps.window_cyc: 20000}
metrics: [{name: stp, value: totals.stp}]
figures: [{title: Curves, metric: stp, plot: sorted}]
YAML
expect 0 "report: $dir/mix.html" "$ATOLL" sweep "$dir/mix.yaml" --db "$dir/mix.db" --html "$dir/mix.html"
holds "a mix has a table, and its partition over epochs" python3 - "$dir/mix.html" << 'PY'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
mix = text[text.index("Mixes of applications"):text.index("how busy its parts are")]
rows = re.findall(r'<tr><th scope="row">(fixed|Ori)</th>(.*?)</tr>', mix)
assert [name for name, _ in rows] == ["fixed", "Ori"], rows  # vecadd alone is no mix
cells = [re.findall(r">([^<>]*)</td>", row) for _, row in rows]
assert cells[0][4:] == ["40/16, 40/16", "–", "–"] and cells[1][4:6] == ["20/8, 60/24", "1"] and int(cells[1][6]) > 0, cells
stp, antt, first, second = map(float, cells[1][:4])
assert abs(stp - first - second) < 0.003 and abs(antt - (1 / first + 1 / second) / 2) < 0.003, cells
owns = re.findall(r"<title>([a-z]*):tiny, epoch (\d): owns channel index (\d)", mix)
assert len(owns) == 4 * 8 and ("triad", "3", "1") in owns and ("hotspot", "3", "2") in owns, owns
moved = sum(int(n) for n in re.findall(r"<title>[a-z]*:tiny, epoch \d: (\d+) pages moved", mix))
assert moved == int(cells[1][6]) and "60 SMs" in mix
PY

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$chromium" ]; then
    skip "the report in a browser: there is no Chromium here (apt-get install chromium)"
    finish
fi
# in the browser: what is drawn, what the keyboard does, what the themes change; the page tells in its title
cat > "$dir/probe.js" << 'JS'
<script>
window.addEventListener("load", function () {
  var bad = [];
  function need(what, good) { if (!good) bad.push(what); }
  function colour() { return getComputedStyle(document.body).backgroundColor; }
  document.querySelectorAll("figure svg").forEach(function (svg) {
    var box = svg.getBoundingClientRect();
    need("a picture has no size", box.width > 100 && box.height > 20);
    need("a picture has no marks", svg.querySelectorAll(".m").length > 0);
    svg.querySelectorAll("rect,circle,path,line").forEach(function (e) {
      need("a mark has NaN in it", !/NaN|inf/.test(e.outerHTML));
    });
    need("a picture cannot be focused", svg.tabIndex === 0);
    need("a picture has no name", svg.getAttribute("aria-label"));
    need("a table stands behind it", svg.closest("figure").querySelector("table") || /Published and ours/.test(svg.closest("figure").textContent));
  });
  var figure = document.querySelector("figure"), svg = figure.querySelector("svg"), out = figure.querySelector(".readout");
  var before = out.textContent;
  svg.focus();
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  need("arrow keys read a value", out.textContent !== before && svg.querySelector(".m.on"));
  var map = document.querySelector(".heat"), heat = map.closest("figure"), said = heat.querySelector(".readout");
  heat.querySelector("svg").focus();
  ["ArrowRight", "ArrowRight", "ArrowDown"].forEach(function (key) {
    heat.querySelector("svg").dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true }));
  });
  need("arrow keys go through the heat map: " + said.textContent,
       /^SMs of partition 1, slices of partition 1: [0-9.e-]+ % of the bytes$/.test(said.textContent));
  need("a heat map has no cells", map.querySelectorAll("path.hot").length > 0);
  need("a label of a picture is cut", Array.prototype.every.call(document.querySelectorAll("figure svg"), function (svg) {
    var box = svg.viewBox.baseVal;
    return Array.prototype.every.call(svg.querySelectorAll("text"), function (text) {
      var b = text.getBBox(), m = svg.getScreenCTM().inverse().multiply(text.getScreenCTM());
      return [[b.x, b.y], [b.x + b.width, b.y], [b.x, b.y + b.height], [b.x + b.width, b.y + b.height]].every(function (p) {
        var q = new DOMPoint(p[0], p[1]).matrixTransform(m);
        return q.x > -2 && q.y > -2 && q.x < box.width + 2 && q.y < box.height + 2;
      });
    });
  }));
  need("the page is wider than the window", document.documentElement.scrollWidth <= window.innerWidth);
  var button = document.getElementById("theme"), colours = {};
  button.click(); colours.light = colour();
  button.click(); colours.dark = colour();
  need("light and dark differ", colours.light !== colours.dark);
  need("light is light", colours.light === "rgb(255, 255, 255)");
  var text = getComputedStyle(document.querySelector("svg text")).fill;
  need("text of pictures follows the theme", text !== "rgb(0, 0, 0)");
  document.querySelectorAll("details").forEach(function (d) {
    d.open = true;
    if (d.closest(".why")) need("a reason has no command", d.querySelector("code"));
    else need("a table is empty", d.querySelectorAll("td").length > 0);
  });
  var ids = {};
  document.querySelectorAll("[id]").forEach(function (e) { need("an id is given twice", !ids[e.id]); ids[e.id] = 1; });
  document.querySelectorAll("nav a").forEach(function (a) { need("a link leads nowhere", document.querySelector(a.getAttribute("href"))); });
  document.title = bad.length ? "BAD " + bad.join("; ") : "GOOD " + document.querySelectorAll("figure").length;
});
</script>
JS
cat "$dir/r.html" "$dir/probe.js" > "$dir/probe.html"
browse() {
    timeout 200 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --disable-dev-shm-usage --user-data-dir="$dir/profile" "$@" 2> /dev/null
}
browse --window-size=1200,900 --virtual-time-budget=5000 --dump-dom "file://$dir/probe.html" > "$dir/dom.html"
expect 0 "<title>GOOD" grep -a -m1 -o "<title>[^<]*" "$dir/dom.html"
cat "$dir/mix.html" "$dir/probe.js" > "$dir/mix-probe.html"
browse --window-size=1200,900 --virtual-time-budget=5000 --dump-dom "file://$dir/mix-probe.html" > "$dir/mix-dom.html"
expect 0 "<title>GOOD" grep -a -m1 -o "<title>[^<]*" "$dir/mix-dom.html"
browse --window-size=420,900 --virtual-time-budget=5000 --dump-dom "file://$dir/probe.html" > "$dir/narrow.html"
expect 0 "<title>GOOD" grep -a -m1 -o "<title>[^<]*" "$dir/narrow.html"
browse --window-size=1200,2000 --screenshot="$dir/shot.png" "file://$dir/r.html" > /dev/null
holds "a picture of the page can be taken" test -s "$dir/shot.png"
browse --print-to-pdf="$dir/r.pdf" --no-pdf-header-footer "file://$dir/r.html" > /dev/null
holds "the page can be printed" test -s "$dir/r.pdf"
finish
