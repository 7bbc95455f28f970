"""Numbers of system calls on x86-64 and ARM64, in families of what they are for. A name without a number does not exist there."""

from __future__ import annotations

from collections.abc import Mapping

LAST = 469  # of Linux 6.18; what came later is not known here, and is not offered to a process

_X86_64 = """
open 2 ioctl 16 shmget 29 shmat 30 shmctl 31 socket 41 connect 42 accept 43 sendto 44 sendmsg 46 bind 49 listen 50
socketpair 53 clone 56 fork 57 vfork 58 execve 59 kill 62 semget 64 semop 65 semctl 66 shmdt 67 msgget 68 msgsnd 69 msgrcv 70
msgctl 71 fcntl 72 truncate 76 ftruncate 77 rename 82 mkdir 83 rmdir 84 creat 85 link 86 unlink 87 symlink 88 chmod 90
fchmod 91 chown 92 fchown 93 lchown 94 ptrace 101 syslog 103 setuid 105 setgid 106 setreuid 113 setregid 114 setgroups 116
setresuid 117 setresgid 119 setfsuid 122 setfsgid 123 capset 126 rt_sigqueueinfo 129 utime 132 mknod 133 uselib 134
personality 135 ustat 136 setpriority 141 sched_setparam 142 sched_setscheduler 144 modify_ldt 154 pivot_root 155 adjtimex 159
chroot 161 acct 163 settimeofday 164 mount 165 umount2 166 swapon 167 swapoff 168 reboot 169 sethostname 170 setdomainname 171
iopl 172 ioperm 173 init_module 175 delete_module 176 quotactl 179 setxattr 188 lsetxattr 189 fsetxattr 190 removexattr 197
lremovexattr 198 fremovexattr 199 tkill 200 sched_setaffinity 203 clock_settime 227 tgkill 234 utimes 235 mbind 237
set_mempolicy 238 mq_open 240 kexec_load 246 add_key 248 request_key 249 keyctl 250 ioprio_set 251 inotify_init 253
inotify_add_watch 254 migrate_pages 256 inotify_init1 294
openat 257 mkdirat 258 mknodat 259 fchownat 260 futimesat 261 unlinkat 263 renameat 264 linkat 265 symlinkat 266 fchmodat 268
unshare 272 move_pages 279 utimensat 280 accept4 288 rt_tgsigqueueinfo 297 perf_event_open 298 fanotify_init 300 prlimit64 302
name_to_handle_at 303 open_by_handle_at 304 clock_adjtime 305 sendmmsg 307 setns 308 process_vm_readv 310
process_vm_writev 311 kcmp 312 finit_module 313 sched_setattr 314 renameat2 316 seccomp 317 memfd_create 319
kexec_file_load 320 bpf 321 execveat 322 userfaultfd 323
"""
_ARM64 = """
setxattr 5 lsetxattr 6 fsetxattr 7 removexattr 14 lremovexattr 15 fremovexattr 16 fcntl 25 inotify_init1 26
inotify_add_watch 27 ioctl 29 ioprio_set 30 mknodat 33
mkdirat 34 unlinkat 35 symlinkat 36 linkat 37 renameat 38 umount2 39 mount 40 pivot_root 41 truncate 45 ftruncate 46 chroot 51
fchmod 52 fchmodat 53 fchownat 54 fchown 55 openat 56 quotactl 60 utimensat 88 acct 89 capset 91 personality 92 unshare 97
kexec_load 104 init_module 105 delete_module 106 clock_settime 112 syslog 116 ptrace 117 sched_setparam 118
sched_setscheduler 119 sched_setaffinity 122 kill 129 tkill 130 tgkill 131 rt_sigqueueinfo 138 setpriority 140 reboot 142
setregid 143 setgid 144 setreuid 145 setuid 146 setresuid 147 setresgid 149 setfsuid 151 setfsgid 152 setgroups 159
sethostname 161 setdomainname 162 settimeofday 170 adjtimex 171 mq_open 180 msgget 186 msgctl 187 msgrcv 188 msgsnd 189
semget 190 semctl 191 semop 193 shmget 194 shmctl 195 shmat 196 shmdt 197 socket 198 socketpair 199 bind 200 listen 201
accept 202 connect 203 sendto 206 sendmsg 211 add_key 217 request_key 218 keyctl 219 clone 220 execve 221 swapon 224
swapoff 225 mbind 235 set_mempolicy 237 migrate_pages 238 move_pages 239 rt_tgsigqueueinfo 240 perf_event_open 241 accept4 242
prlimit64 261 fanotify_init 262 name_to_handle_at 264 open_by_handle_at 265 clock_adjtime 266 setns 268 sendmmsg 269
process_vm_readv 270 process_vm_writev 271 kcmp 272 finit_module 273 sched_setattr 274 renameat2 276 seccomp 277
memfd_create 279 bpf 280 execveat 281 userfaultfd 282 kexec_file_load 294
"""
_BOTH = """
pidfd_send_signal 424 io_uring_setup 425 io_uring_enter 426 io_uring_register 427 open_tree 428 move_mount 429 fsopen 430
fsconfig 431 fsmount 432 fspick 433 pidfd_open 434 clone3 435 openat2 437 pidfd_getfd 438 process_madvise 440 mount_setattr 442
quotactl_fd 443 memfd_secret 447 process_mrelease 448 set_mempolicy_home_node 450 fchmodat2 452 setxattrat 463 removexattrat 466
open_tree_attr 467 file_setattr 469
"""


def _read(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


NUMBERS: Mapping[str, Mapping[str, int]] = {
    "x86_64": _read(_X86_64) | _read(_BOTH),
    "aarch64": _read(_ARM64) | _read(_BOTH),
}

NETWORK = ("socket", "connect", "bind")
TO_OTHERS = (  # by their arguments, see seccomp.py: what Landlock's rules of TCP ports do not see
    "socket of another kind", "sendto that connects", "sendmsg that connects", "sendmmsg that connects",
)  # fmt: skip
INCOMING = ("listen", "accept", "accept4")  # on a socket that was open before
PAIRS = ("socketpair",)
PROGRAMS = ("execve", "execveat", "memfd_create", "memfd_secret", "uselib")
PROCESSES = ("fork", "vfork")  # `clone` is allowed for threads alone, see seccomp.py
SIGNALS = (  # the last three by their arguments, see seccomp.py
    "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "pidfd_open", "tgkill", "fcntl", "ioctl",
)  # fmt: skip
OTHERS_LIMITS = (  # limits and priorities of other processes of the same user: enough to end or to starve them
    "prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr", "setpriority", "ioprio_set",
)  # fmt: skip
OTHERS_MEMORY = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp",
    "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open",
    "migrate_pages", "move_pages", "mbind", "set_mempolicy", "set_mempolicy_home_node",
)  # fmt: skip
KERNEL = (
    "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key",
    "request_key", "syslog", "acct", "reboot", "swapon", "swapoff", "kexec_load", "kexec_file_load", "init_module", "finit_module",
    "delete_module", "iopl", "ioperm", "modify_ldt", "personality", "quotactl", "quotactl_fd", "ustat", "fanotify_init",
    "inotify_init", "inotify_init1", "inotify_add_watch",
    "name_to_handle_at", "open_by_handle_at", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
    "setdomainname", "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "open_tree", "open_tree_attr", "move_mount",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
)  # fmt: skip
RIGHTS = (
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups", "capset",
)  # fmt: skip
MODES = (  # what Landlock does not know of: who may read a file, and what is written beside its content
    "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "setxattr", "lsetxattr", "setxattrat", "removexattr",
    "lremovexattr", "removexattrat", "file_setattr", "utime", "utimes", "futimesat", "utimensat",
)  # fmt: skip
CHANGES = (
    "creat", "truncate", "ftruncate", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink",
    "unlinkat", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "fchmod", "fchown", "fsetxattr", "fremovexattr",
)  # fmt: skip
