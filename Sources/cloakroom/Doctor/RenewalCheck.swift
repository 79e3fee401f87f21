import CloakroomAWS
import CloakroomCrypto
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// Renews an object of the doctor's own in each way there is.
@LoopActor
struct RenewalCheck {
    private let dependencies: DoctorDependencies
    private let check = CheckName.renewal
    private static let note = "x-amz-meta-cloakroom-doctor"

    init(_ dependencies: DoctorDependencies) { self.dependencies = dependencies }

    func findings() async -> [Finding] {
        let prefix = dependencies.settings.ownObjects.doctor
        guard !dependencies.options.isReadOnly else { return [check.skipped("nothing may be written (--read-only)")] }
        guard let object = ObjectAddress(key: prefix + dependencies.name) else { return [] }
        if await dependencies.refusesDeletion(of: object) {
            return [
                check.skipped(
                    "the worker may not delete, so nothing was written that would stay",
                    advice: "allow s3:DeleteObject on \(prefix)* alone: deploy/iam/doctor-policy.json")
            ]
        }
        dependencies.willWrite(prefix + dependencies.name, as: dependencies.s3)
        do throws(AWSError) {
            try await dependencies.s3.put(
                object, body: Array("cloakroom doctor".utf8), contentType: "text/x-cloakroom-doctor",
                fields: [
                    "cache-control": "max-age=60", Self.note: "probe", "x-amz-tagging": "cloakroom-doctor=probe",
                ], deadline: dependencies.deadline)
            var trials: [RenewalTrial] = []
            for mode in [RenewalSettings.Mode.copy, .replace] {
                trials.append(try await trial(mode, of: object, key: prefix + dependencies.name))
            }
            return RenewalFindings(trials, dependencies.settings.renewal).all
        } catch {
            return [
                check.error(
                    "the doctor's own object cannot be stored and looked at: \(error.words)",
                    why: "renewing takes the same permissions",
                    advice: "allow s3:PutObject, s3:GetObject, s3:PutObjectTagging and s3:GetObjectTagging:"
                        + " deploy/iam/worker-policy.json")
            ]
        }
    }

    private func trial(
        _ mode: RenewalSettings.Mode, of object: ObjectAddress, key: String
    ) async throws(AWSError) -> RenewalTrial {
        let before = try await look(object)
        // Dates have whole seconds.
        do { try await LoopActor.sleep(for: .milliseconds(1100)) } catch {
            throw AWSError(.cancelled, code: "Cancelled")
        }
        let renewal = await dependencies.s3(mode: mode).renew(key: key, deadline: dependencies.deadline)
        guard case .renewed = renewal.outcome else {
            return RenewalTrial(mode: mode, outcome: renewal.outcome, before: before, after: nil)
        }
        return RenewalTrial(mode: mode, outcome: renewal.outcome, before: before, after: try await look(object))
    }

    private func look(_ object: ObjectAddress) async throws(AWSError) -> ProbeObject {
        guard let stored = try await dependencies.s3.head(object, deadline: dependencies.deadline) else {
            throw AWSError(.refused, status: 404, code: "NoSuchKey")
        }
        let tags = try? await dependencies.s3.tags(of: object, deadline: dependencies.deadline)
        return ProbeObject(
            lastModified: stored.lastModified, contentType: stored.fields["content-type"],
            cacheControl: stored.fields["cache-control"], note: stored.fields[Self.note], tags: tags,
            expiration: stored.expiration)
    }
}
