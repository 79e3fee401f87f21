import CloakroomAWS
import CloakroomLoop
import CloakroomOperations

/// A bucket's lifecycle as it is.
struct BucketLifecycle {
    let configuration: LifecycleConfiguration
    let versioning: BucketVersioning

    @LoopActor
    init(_ s3: S3Client) async throws(AWSError) {
        configuration = try await s3.lifecycle(deadline: .now + SettingsCommandLine.requestDeadline)
        versioning = try await s3.versioning(deadline: .now + SettingsCommandLine.requestDeadline)
    }

    /// Puts the rules of a plan in the place of these, and prints that it is done.
    ///
    /// - Parameter done: such as `applied`.
    @LoopActor
    func put(_ plan: LifecyclePlan, _ s3: S3Client, done: String) async throws(AWSError) {
        try await s3.put(
            plan.target, inPlaceOf: configuration, deadline: .now + SettingsCommandLine.requestDeadline)
        Output.print(
            try await Self.isThere(plan, s3)
                ? done : "\(done); S3 still tells the former rules, which it may do for some minutes")
    }

    /// S3 spreads a configuration; until then it may tell the one before.
    @LoopActor
    private static func isThere(_ plan: LifecyclePlan, _ s3: S3Client) async throws(AWSError) -> Bool {
        for _ in 0..<5 {
            if plan.isDone(in: try await s3.lifecycle(deadline: .now + SettingsCommandLine.requestDeadline)) {
                return true
            }
            try? await LoopActor.sleep(for: .seconds(1))
        }
        return false
    }
}

extension LifecyclePlan {
    /// Whether the bucket's rules are those of the plan: a rule with other days may bear the name of the one before.
    func isDone(in now: LifecycleConfiguration) -> Bool {
        let added = changes.compactMap { change in if case .added(let rule) = change { rule } else { nil } }
        return now.rules.count == target.rules.count
            && added.allSatisfy { rule in now.rules.contains { $0.id == rule.id && $0.meansTheSame(as: rule) } }
    }

    /// What it adds, removes and keeps, a line each.
    var lines: [String] {
        changes.map { change in
            switch change {
            case .removed(let rule): "- " + LifecycleDescription.rule(rule)
            case .added(let rule): "+ " + LifecycleDescription.rule(rule)
            case .kept(let rule): "  " + LifecycleDescription.rule(rule)
            }
        }
    }
}

extension BucketVersioning {
    var word: String {
        switch self {
        case .never: "never on"
        case .enabled: "on"
        case .suspended: "suspended"
        }
    }
}
