import CloakroomCLinux

/// A core file of this process would hold tokens, keys and vended credentials.
enum CoreDumps {
    /// No core file from a crash, and no other process of the same user attaches or reads the memory (prctl(2),
    /// PR_SET_DUMPABLE). Until the process runs another program.
    static func refuse() {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        _ = cloakroom_set_dumpable(0)
    }
}
