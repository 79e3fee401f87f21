import CloakroomCLinux

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells systemd, if it started us, what `systemctl status` shows (sd_notify(3)).
enum ServiceManager {
    static func status(_ text: String) {
        guard let socket = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"] else { return }
        let line = "STATUS=\(text)\n"
        _ = cloakroom_send_datagram(socket, line, line.utf8.count)
    }
}
