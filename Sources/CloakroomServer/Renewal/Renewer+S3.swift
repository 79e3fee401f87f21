package import CloakroomAWS
import CloakroomLoop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension Renewer {
    /// Renews in one bucket, with objects of the worker's own there to tell whether a refusal is a key's own.
    ///
    /// - Parameters:
    ///   - testPrefix: stands before the prefix of a key in the keys of the worker's own objects.
    ///   - waits: whether a copy that goes on beside the request is waited for, beyond the deadline too.
    package convenience init(
        _ settings: Settings.Renewal, s3: S3Client, requestDeadline: Duration, metrics: Metrics,
        queue: ObjectQueue? = nil, testPrefix: String = "", waits: Bool = false,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            settings: settings, requestDeadline: requestDeadline, metrics: metrics, queue: queue,
            permissions: RenewalPermissions(
                kmsKey: { key, deadline throws(AWSError) in try await s3.kmsKey(of: key, deadline: deadline) },
                test: { await s3.testRenewal(under: testPrefix + $0, deadline: $1) }),
            now: now,
            chatImage: { key, deadline in await s3.renewal(ofChatImage: key, deadline: deadline) },
            renew: { key, deadline in
                await waits ? s3.renewWaiting(key: key, deadline: deadline) : s3.renew(key: key, deadline: deadline)
            })
    }
}

extension RenewalSettings {
    package init(_ settings: Settings.Renewal) {
        self.init(
            mode: settings.mode,
            storageClass: settings.storageClass == "preserve" ? .preserved : .named(settings.storageClass),
            encryption: settings.encryption, acl: settings.acl, minimumAge: settings.minimumAge)
    }
}
