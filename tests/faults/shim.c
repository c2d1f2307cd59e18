/* A bad disk and a bad clock, for a process that is started with LD_PRELOAD: system calls of chosen kinds, on files of
   chosen places, fail, move less than they should, or end the process. Nothing is done until `fault_arm` is called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { READ = 1, WRITE = 2, CREATE = 4, ALLOCATE = 8, SYNC = 16, RENAME = 32, OPEN = 64, REMOVE = 128, KINDS = 8 };
enum { FAIL, SHORT, END, KILL };
enum { PLACES = 3 };

static char places[PLACES][64];             /* words in paths */
static atomic_long counts[PLACES][KINDS];   /* calls since they were last asked for */
static atomic_int kinds, mode, number;      /* what is struck; how; errno */
static char word[64];                       /* in the paths that are struck */
static atomic_long left, hits;
static atomic_long clock_left, clock_jump;

void fault_places(int index, const char *text) { snprintf(places[index], sizeof places[index], "%s", text); }
long fault_count(int place, int kind) { return atomic_exchange(&counts[place][kind], 0); }
long fault_hits(void) { return atomic_load(&hits); }
void fault_disarm(void) { atomic_store(&kinds, 0); }
void fault_arm(int which, const char *text, long after, int how, int error) {
    fault_disarm();
    snprintf(word, sizeof word, "%s", text);
    atomic_store(&left, after);
    atomic_store(&mode, how);
    atomic_store(&number, error);
    atomic_store(&kinds, which);
}
void clock_arm(long after, long seconds) { atomic_store(&clock_left, after); atomic_store(&clock_jump, seconds); }

__attribute__((constructor)) static void from_environment(void) {
    /* for processes that are started by one that is tested: kinds,after,how,errno,word */
    const char *text = getenv("FAULTS_OF_THE_DISK");
    int which, after, how, error, begin = 0;
    if (text && sscanf(text, "%d,%d,%d,%d,%n", &which, &after, &how, &error, &begin) == 4 && begin)
        fault_arm(which, text + begin, after, how, error);
}

/* Whether this call is struck; counts it. */
static int struck(int kind, const char *path) {
    for (int place = 0; place < PLACES; place++)
        if (places[place][0] && strstr(path, places[place]))
            for (int bit = 0; bit < KINDS; bit++)
                if (kind == 1 << bit) atomic_fetch_add(&counts[place][bit], 1);
    if (!(atomic_load(&kinds) & kind) || !strstr(path, word)) return 0;
    if (atomic_fetch_sub(&left, 1) > 0) return 0;
    atomic_fetch_add(&hits, 1);
    if (atomic_load(&mode) == KILL) kill(getpid(), SIGKILL);
    return 1;
}

static int struck_fd(int kind, int fd) {
    char link[64], path[PATH_MAX];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length <= 0 || path[0] != '/') return 0;
    path[length] = 0;
    return struck(kind, path);
}

static int struck_at(int kind, int fd, const char *name) {
    char link[64], path[2 * PATH_MAX];
    if (name[0] == '/' || fd == AT_FDCWD) return struck(kind, name);
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    errno = saved;
    if (length <= 0) return 0;
    snprintf(path + length, sizeof path - length, "/%s", name);
    return struck(kind, path);
}

#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define REFUSE do { errno = atomic_load(&number); return -1; } while (0)
#define LESS(n) ((n) > 1 ? (n) / 2 : (n))

/* Calls that move bytes: a struck one fails, says that the file ends, or moves half. */
#define MOVING(kind, type, name, parameters, arguments)                                                            \
    ssize_t name parameters {                                                                                      \
        NEXT(name);                                                                                                \
        if (!struck_fd(kind, fd)) return next arguments;                                                           \
        if (atomic_load(&mode) == END) return 0;                                                                   \
        if (atomic_load(&mode) != SHORT) REFUSE;                                                                   \
        n = LESS(n);                                                                                               \
        return next arguments;                                                                                     \
    }
MOVING(READ, void, read, (int fd, void *b, size_t n), (fd, b, n))
MOVING(READ, void, pread, (int fd, void *b, size_t n, off_t at), (fd, b, n, at))
MOVING(READ, void, pread64, (int fd, void *b, size_t n, off64_t at), (fd, b, n, at))
MOVING(WRITE, void, write, (int fd, const void *b, size_t n), (fd, b, n))
MOVING(WRITE, void, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
MOVING(WRITE, void, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))

#define MOVING_VECTOR(kind, name, parameters, arguments)                                                           \
    ssize_t name parameters {                                                                                      \
        NEXT(name);                                                                                                \
        if (!struck_fd(kind, fd)) return next arguments;                                                           \
        if (atomic_load(&mode) == END) return 0;                                                                   \
        if (atomic_load(&mode) != SHORT) REFUSE;                                                                   \
        struct iovec half = {v[0].iov_base, LESS(v[0].iov_len)};                                                   \
        v = &half;                                                                                                 \
        n = 1;                                                                                                     \
        return next arguments;                                                                                     \
    }
MOVING_VECTOR(READ, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
MOVING_VECTOR(READ, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
MOVING_VECTOR(READ, preadv64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))
MOVING_VECTOR(READ, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
MOVING_VECTOR(READ, preadv64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags), (fd, v, n, at, flags))
MOVING_VECTOR(WRITE, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
MOVING_VECTOR(WRITE, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
MOVING_VECTOR(WRITE, pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))

#define WHOLE(name, parameters, is_struck, arguments)                                                              \
    int name parameters { NEXT(name); if (is_struck) REFUSE; return next arguments; }
WHOLE(fsync, (int fd), struck_fd(SYNC, fd), (fd))
WHOLE(fdatasync, (int fd), struck_fd(SYNC, fd), (fd))
WHOLE(rename, (const char *a, const char *b), struck(RENAME, b), (a, b))
WHOLE(renameat, (int f, const char *a, int g, const char *b), struck_at(RENAME, g, b), (f, a, g, b))
WHOLE(mkdir, (const char *a, mode_t m), struck(CREATE, a), (a, m))
WHOLE(mkdirat, (int f, const char *a, mode_t m), struck_at(CREATE, f, a), (f, a, m))
WHOLE(unlink, (const char *a), struck(REMOVE, a), (a))
WHOLE(unlinkat, (int f, const char *a, int flags), struck_at(REMOVE, f, a), (f, a, flags))
WHOLE(rmdir, (const char *a), struck(REMOVE, a), (a))
WHOLE(ftruncate, (int fd, off_t n), struck_fd(ALLOCATE, fd), (fd, n))
WHOLE(ftruncate64, (int fd, off64_t n), struck_fd(ALLOCATE, fd), (fd, n))

/* These return the number of the error. */
#define ALLOCATING(name, type)                                                                                     \
    int name(int fd, type at, type n) {                                                                            \
        NEXT(name);                                                                                                \
        return struck_fd(ALLOCATE, fd) ? atomic_load(&number) : next(fd, at, n);                                   \
    }
ALLOCATING(posix_fallocate, off_t)
ALLOCATING(posix_fallocate64, off64_t)

#define OPENING(name, parameters, directory, arguments)                                                            \
    int name parameters {                                                                                          \
        NEXT(name);                                                                                                \
        mode_t m = 0;                                                                                              \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); m = va_arg(rest, mode_t); va_end(rest); } \
        if (struck_at(flags & O_CREAT ? CREATE : OPEN, directory, path)) REFUSE;                                   \
        return next arguments;                                                                                     \
    }
OPENING(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, m))
OPENING(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, m))
OPENING(openat, (int fd, const char *path, int flags, ...), fd, (fd, path, flags, m))
OPENING(openat64, (int fd, const char *path, int flags, ...), fd, (fd, path, flags, m))

/* A clock that leaps after some looks at it; the monotonic one does not, as the system promises. */
static long leap(void) {
    long jump = atomic_load(&clock_jump);
    return jump && atomic_fetch_sub(&clock_left, 1) <= 0 ? jump : 0;
}
int clock_gettime(clockid_t id, struct timespec *now) {
    NEXT(clock_gettime);
    int result = next(id, now);
    if (!result && id == CLOCK_REALTIME) now->tv_sec += leap();
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    NEXT(gettimeofday);
    int result = next(now, zone);
    if (!result) now->tv_sec += leap();
    return result;
}
time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}
