/* Makes building the Python host repeatable: for the process that preloads it, randomness is constant, clocks stand still,
 * and files differ in little but content, name and length. componentize-py takes a picture of the interpreter's memory
 * after its start, and with it what the interpreter was told of these. Linux on x86-64. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* The one place from which the filter lets the calls below pass. */
__asm__(".text\n.globl steady_call\n.type steady_call, @function\nsteady_call:\n"
        "mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\nmov %r8, %r10\nmov %r9, %r8\n"
        "syscall\nsteady_after:\nret\n.globl steady_after\n");
extern long steady_call(long number, long a, long b, long c, long d, long e);
extern char steady_after[];

static volatile int lock;

static void steady_stat(struct stat *s) {
    /* By device and number the loader knows its libraries: these stay. */
    s->st_atim.tv_sec = s->st_mtim.tv_sec = s->st_ctim.tv_sec = 0;
    s->st_atim.tv_nsec = s->st_mtim.tv_nsec = s->st_ctim.tv_nsec = 0;
    s->st_uid = s->st_gid = 0;
    s->st_nlink = 1;
    s->st_blksize = 4096;
    s->st_blocks = 0;
    if (S_ISDIR(s->st_mode)) s->st_size = 4096;
}

static void steady_statx(struct statx *s) {
    s->stx_ino = s->stx_dev_major = s->stx_dev_minor = 1;
    s->stx_atime = s->stx_btime = s->stx_ctime = s->stx_mtime = (struct statx_timestamp){0};
    s->stx_uid = s->stx_gid = 0;
    s->stx_mnt_id = 0;
    s->stx_nlink = 1;
    s->stx_blksize = 4096;
    s->stx_blocks = 0;
    s->stx_attributes = s->stx_attributes_mask = 0;
    if (S_ISDIR(s->stx_mode)) s->stx_size = 4096;
}

struct entry { uint64_t file; int64_t offset; uint16_t length; uint8_t kind; char name[]; };

static int by_name(const void *a, const void *b) {
    return strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
}

/* Folders are listed in the order of names, whatever the file system's is. */
static void steady_listing(char *buffer, long length) {
    static struct entry *entries[4096];
    static char copy[1 << 16];
    if (length <= 0 || length > (long)sizeof copy) return;
    while (__sync_lock_test_and_set(&lock, 1)) { }
    memcpy(copy, buffer, length);
    int count = 0;
    for (long at = 0; at < length && count < 4096; count++) {
        entries[count] = (struct entry *)(copy + at);
        at += entries[count]->length;
    }
    qsort(entries, count, sizeof *entries, by_name);
    char *to = buffer;
    for (int i = 0; i < count; i++) {
        memcpy(to, entries[i], entries[i]->length);
        ((struct entry *)to)->file = 1;
        to += entries[i]->length;
    }
    __sync_lock_release(&lock);
}

static void trapped(int signal, siginfo_t *info, void *context) {
    (void)signal;
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    long call = info->si_syscall;
    if (call == SYS_getrandom) {
        memset((void *)r[REG_RDI], 7, r[REG_RSI]);
        r[REG_RAX] = r[REG_RSI];
        return;
    }
    long result = steady_call(call, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8]);
    r[REG_RAX] = result;
    if (result < 0) return;
    if (call == SYS_statx) steady_statx((struct statx *)r[REG_R8]);
    if (call == SYS_newfstatat) steady_stat((struct stat *)r[REG_RDX]);
    if (call == SYS_fstat || call == SYS_stat || call == SYS_lstat) steady_stat((struct stat *)r[REG_RSI]);
    if (call == SYS_getdents64) steady_listing((char *)r[REG_RSI], result);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) {
        *time = (struct timespec){1700000000, 0};
        return 0;
    }
    long result = steady_call(SYS_clock_gettime, clock, (long)time, 0, 0, 0);
    if (result < 0) errno = -result;
    return result < 0 ? -1 : 0;
}

__attribute__((constructor)) static void begin(void) {
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigaction(SIGSYS, &action, NULL);
    uint64_t after = (uint64_t)steady_after;
#define TRAP(number, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, left, 0)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)after, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(after >> 32), 8, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        TRAP(SYS_getrandom, 7), TRAP(SYS_statx, 6), TRAP(SYS_newfstatat, 5), TRAP(SYS_fstat, 4), TRAP(SYS_stat, 3),
        TRAP(SYS_lstat, 2), TRAP(SYS_getdents64, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(99);
}
