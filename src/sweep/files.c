/* files: see files.h. */
#include "sweep/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"

static char *read_all(FILE *f)
{
    char *text = NULL;
    size_t len = 0, got;
    char buf[65536];
    FILE *to = open_memstream(&text, &len);
    while (to && (got = fread(buf, 1, sizeof buf, f)) > 0) (void)fwrite(buf, 1, got, to);
    if (to) (void)fclose(to);
    return text;
}

char *files_read(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f) return NULL;
    char *text = read_all(f);
    (void)fclose(f);
    return text;
}

void files_write(const char *path, const char *text)
{
    char part[4200];
    (void)snprintf(part, sizeof part, "%.4096s.%ld.part", path, (long)getpid());
    FILE *f = fopen(part, "we");
    bool good = f && fputs(text, f) >= 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
    if (f) good = fclose(f) == 0 && good;
    if (good && rename(part, path) == 0) return;
    const int error = errno;
    (void)unlink(part);
    diag_mistake("cannot write '%s': %s", path, strerror(error));
}

void files_make_directory(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) diag_mistake("cannot make the directory '%s': %m", path);
}

char *files_ask(const char *const *argv, int *code)
{
    int ends[2], status = 0;
    *code = 127;
    if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
    const pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
        (void)dprintf(STDERR_FILENO, "%s\n", strerror(errno));
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    char *text = f && pid > 0 ? read_all(f) : NULL;
    if (f) (void)fclose(f);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) *code = WEXITSTATUS(status);
    return text;
}
