/* A disk that fails at the N-th operation that changes a file below one folder.
 *
 * Loaded with LD_PRELOAD, so that it stands between every library (Python, Arrow, Polars, SQLite) and the system.
 * The test and all processes share one page, the file that FAILING_DISK names: what fails, and what has happened.
 */
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NOTHING, FULL, FAULTY, KILLED, READ_ONLY };

struct state {
  atomic_llong count;  /* operations so far */
  atomic_llong at;     /* the operation that fails, from 1; 0: none */
  atomic_llong kind;
  atomic_llong fired;  /* whether it has failed */
  char root[1024];     /* the folder, without links; empty: no folder */
  char what[1024];     /* the operation that failed, and its file */
};

static struct state *state;

__attribute__((constructor)) static void load(void) {
  const char *name = getenv("FAILING_DISK");
  int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) state = page;
}

#define REAL(name) ((__typeof__(&name))real(#name, &real_##name))
static void *real(const char *name, void **kept) {
  if (!*kept) *kept = dlsym(RTLD_NEXT, name);
  return *kept;
}

static int is_watched(const char *path) {
  size_t length = strlen(state->root);
  return length && !strncmp(path, state->root, length) && (path[length] == '/' || !path[length]);
}

static int path_of(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return 1;
}

static int path_at(int folder, const char *name, char *path) {
  if (name[0] == '/') {
    snprintf(path, PATH_MAX, "%s", name);
    return 1;
  }
  char home[PATH_MAX];
  if (folder == AT_FDCWD ? !getcwd(home, sizeof home) : !path_of(folder, home)) return 0;
  return snprintf(path, PATH_MAX, "%s/%s", home, name) < PATH_MAX;
}

/* What becomes of an operation: 0 goes through, 1 fails with errno set, 2 is killed in the middle. */
static int fate_of(const char *what, const char *path, int needs_space) {
  long long number = atomic_fetch_add(&state->count, 1) + 1, at = atomic_load(&state->at);
  if (!at || number < at) return 0;
  long long kind = atomic_load(&state->kind);
  if (number == at) {
    snprintf(state->what, sizeof state->what, "%s %s", what, path);
    atomic_store(&state->fired, 1);
    if (kind == KILLED) return 2;
  } else if (!(kind == FULL && needs_space) && kind != READ_ONLY) {
    return 0;
  }
  errno = kind == FULL ? ENOSPC : kind == READ_ONLY ? EROFS : EIO;
  return 1;
}

static void end(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int fate_of_file(const char *what, int file, int needs_space) {
  char path[PATH_MAX];
  int before = errno, fate = 0;
  if (state && state->root[0] && path_of(file, path) && is_watched(path)) fate = fate_of(what, path, needs_space);
  if (!fate) errno = before;
  return fate;
}

static int fate_of_path(const char *what, int folder, const char *name, int needs_space) {
  char path[PATH_MAX];
  int before = errno, fate = 0;
  if (state && state->root[0] && path_at(folder, name, path) && is_watched(path)) fate = fate_of(what, path, needs_space);
  if (!fate) errno = before;
  return fate;
}

/* Half of a write reaches the disk before it is full or the process is killed. */
static int ends_half(int fate, long long kind) { return fate == 2 || (fate == 1 && kind == FULL && state->fired == 1); }

#define WRITING(name, file, half)                                                 \
  int fate = fate_of_file(#name, file, 1);                                        \
  if (ends_half(fate, state ? atomic_load(&state->kind) : 0)) {                   \
    int error = errno;                                                            \
    ssize_t written = half;                                                       \
    if (fate == 2) end();                                                         \
    atomic_store(&state->fired, 2);                                               \
    errno = error;                                                                \
    if (written > 0) return written;                                              \
  }                                                                               \
  if (fate) return -1;

static void *real_write, *real_pwrite, *real_pwrite64, *real_writev, *real_pwritev, *real_pwritev64;
ssize_t write(int file, const void *data, size_t size) {
  WRITING(write, file, REAL(write)(file, data, size / 2))
  return REAL(write)(file, data, size);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
  WRITING(pwrite, file, REAL(pwrite)(file, data, size / 2, at))
  return REAL(pwrite)(file, data, size, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
  WRITING(pwrite64, file, REAL(pwrite64)(file, data, size / 2, at))
  return REAL(pwrite64)(file, data, size, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  WRITING(writev, file, count ? REAL(write)(file, parts[0].iov_base, parts[0].iov_len / 2) : 0)
  return REAL(writev)(file, parts, count);
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
  WRITING(pwritev, file, count ? REAL(pwrite)(file, parts[0].iov_base, parts[0].iov_len / 2, at) : 0)
  return REAL(pwritev)(file, parts, count, at);
}
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) {
  WRITING(pwritev64, file, count ? REAL(pwrite64)(file, parts[0].iov_base, parts[0].iov_len / 2, at) : 0)
  return REAL(pwritev64)(file, parts, count, at);
}

#define FAILS(fate)      \
  {                      \
    int result = (fate); \
    if (result == 2) end(); \
    if (result) return -1;  \
  }

static void *real_copy_file_range, *real_sendfile, *real_sendfile64;
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *to_at, size_t size, unsigned flags) {
  FAILS(fate_of_file("copy_file_range", to, 1))
  return REAL(copy_file_range)(from, at, to, to_at, size, flags);
}
ssize_t sendfile(int to, int from, off_t *at, size_t size);
ssize_t sendfile(int to, int from, off_t *at, size_t size) {
  FAILS(fate_of_file("sendfile", to, 1))
  return REAL(sendfile)(to, from, at, size);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t size);
ssize_t sendfile64(int to, int from, off64_t *at, size_t size) {
  FAILS(fate_of_file("sendfile64", to, 1))
  return REAL(sendfile64)(to, from, at, size);
}

static void *real_fsync, *real_fdatasync, *real_ftruncate, *real_ftruncate64, *real_truncate, *real_truncate64;
int fsync(int file) {
  FAILS(fate_of_file("fsync", file, 0))
  return REAL(fsync)(file);
}
int fdatasync(int file) {
  FAILS(fate_of_file("fdatasync", file, 0))
  return REAL(fdatasync)(file);
}
int ftruncate(int file, off_t size) {
  FAILS(fate_of_file("ftruncate", file, 0))
  return REAL(ftruncate)(file, size);
}
int ftruncate64(int file, off64_t size) {
  FAILS(fate_of_file("ftruncate64", file, 0))
  return REAL(ftruncate64)(file, size);
}
int truncate(const char *path, off_t size) {
  FAILS(fate_of_path("truncate", AT_FDCWD, path, 0))
  return REAL(truncate)(path, size);
}
int truncate64(const char *path, off64_t size) {
  FAILS(fate_of_path("truncate64", AT_FDCWD, path, 0))
  return REAL(truncate64)(path, size);
}

/* posix_fallocate returns the error instead of setting errno. */
static void *real_fallocate, *real_fallocate64, *real_posix_fallocate, *real_posix_fallocate64;
int fallocate(int file, int mode, off_t from, off_t size) {
  FAILS(fate_of_file("fallocate", file, 1))
  return REAL(fallocate)(file, mode, from, size);
}
int fallocate64(int file, int mode, off64_t from, off64_t size) {
  FAILS(fate_of_file("fallocate64", file, 1))
  return REAL(fallocate64)(file, mode, from, size);
}
int posix_fallocate(int file, off_t from, off_t size) {
  int fate = fate_of_file("posix_fallocate", file, 1);
  if (fate == 2) end();
  return fate ? errno : REAL(posix_fallocate)(file, from, size);
}
int posix_fallocate64(int file, off64_t from, off64_t size) {
  int fate = fate_of_file("posix_fallocate64", file, 1);
  if (fate == 2) end();
  return fate ? errno : REAL(posix_fallocate64)(file, from, size);
}

static void *real_rename, *real_renameat, *real_renameat2, *real_unlink, *real_unlinkat, *real_rmdir, *real_mkdir;
static void *real_mkdirat, *real_link, *real_linkat;
int rename(const char *old, const char *new) {
  FAILS(fate_of_path("rename", AT_FDCWD, new, 0))
  return REAL(rename)(old, new);
}
int renameat(int folder, const char *old, int other, const char *new) {
  FAILS(fate_of_path("renameat", other, new, 0))
  return REAL(renameat)(folder, old, other, new);
}
int renameat2(int folder, const char *old, int other, const char *new, unsigned flags) {
  FAILS(fate_of_path("renameat2", other, new, 0))
  return REAL(renameat2)(folder, old, other, new, flags);
}
int unlink(const char *path) {
  FAILS(fate_of_path("unlink", AT_FDCWD, path, 0))
  return REAL(unlink)(path);
}
int unlinkat(int folder, const char *path, int flags) {
  FAILS(fate_of_path("unlinkat", folder, path, 0))
  return REAL(unlinkat)(folder, path, flags);
}
int rmdir(const char *path) {
  FAILS(fate_of_path("rmdir", AT_FDCWD, path, 0))
  return REAL(rmdir)(path);
}
int mkdir(const char *path, mode_t mode) {
  FAILS(fate_of_path("mkdir", AT_FDCWD, path, 1))
  return REAL(mkdir)(path, mode);
}
int mkdirat(int folder, const char *path, mode_t mode) {
  FAILS(fate_of_path("mkdirat", folder, path, 1))
  return REAL(mkdirat)(folder, path, mode);
}
int link(const char *old, const char *new) {
  FAILS(fate_of_path("link", AT_FDCWD, new, 1))
  return REAL(link)(old, new);
}
int linkat(int folder, const char *old, int other, const char *new, int flags) {
  FAILS(fate_of_path("linkat", other, new, 1))
  return REAL(linkat)(folder, old, other, new, flags);
}

/* Opening fails where it makes a file, or empties one. */
static int fate_of_opening(int folder, const char *path, int flags) {
  int changes = flags & O_TRUNC;
  if (!changes && (flags & O_CREAT) && state && state->root[0]) {
    int before = errno;
    struct stat about;
    changes = fstatat(folder, path, &about, 0) != 0;
    errno = before;
  }
  return changes ? fate_of_path("open", folder, path, 1) : 0;
}

#define MODE(flags)                                     \
  mode_t mode = 0;                                      \
  if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) { \
    va_list rest;                                       \
    va_start(rest, flags);                              \
    mode = (mode_t)va_arg(rest, int);                   \
    va_end(rest);                                       \
  }

static void *real_open, *real_open64, *real_openat, *real_openat64, *real_creat, *real_creat64;
int open(const char *path, int flags, ...) {
  MODE(flags)
  FAILS(fate_of_opening(AT_FDCWD, path, flags))
  return REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags)
  FAILS(fate_of_opening(AT_FDCWD, path, flags))
  return REAL(open64)(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE(flags)
  FAILS(fate_of_opening(folder, path, flags))
  return REAL(openat)(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags)
  FAILS(fate_of_opening(folder, path, flags))
  return REAL(openat64)(folder, path, flags, mode);
}
int creat(const char *path, mode_t mode) {
  FAILS(fate_of_path("creat", AT_FDCWD, path, 1))
  return REAL(creat)(path, mode);
}
int creat64(const char *path, mode_t mode) {
  FAILS(fate_of_path("creat64", AT_FDCWD, path, 1))
  return REAL(creat64)(path, mode);
}
