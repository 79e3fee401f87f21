package import CloakroomAWS

/// What `cloakroom lifecycle verify` finds, among the doctor's findings.
package enum LifecycleFindings {
    private static let check = CheckName.lifecycle

    package static func all(_ review: LifecycleReview, _ terms: LifecycleTerms) -> [Finding] {
        let wrong = review.findings.map { finding in
            switch finding.severity {
            case .error:
                check.error(
                    finding.text, why: "a promise is broken: objects go early, or stay for ever",
                    advice: finding.advice,
                    command: "cloakroom lifecycle apply --dry-run FILE"
                )
            case .warning:
                check.warning(
                    finding.text, why: "it costs money or time; nothing is lost", advice: finding.advice,
                    command: "cloakroom lifecycle apply --dry-run FILE")
            }
        }
        let tiered = review.tiered.map { [$0.confirmation, $0.versions].compactMap(\.self).map(check.ok) } ?? []
        guard review.isGood else { return wrong + tiered }
        return [check.ok(terms.promise)] + tiered + wrong
    }

    package static func unread(_ fault: AWSError, _ terms: LifecycleTerms) -> Finding {
        guard fault.status == 403 else {
            return check.error(
                "the bucket's lifecycle cannot be read: \(fault.words)",
                why: "whether what is not renewed ever expires cannot be told",
                advice: "see the findings about the bucket; look up the code in the store's manual")
        }
        let found = "the bucket's lifecycle may not be read: \(fault.words)"
        let advice =
            "run the doctor as an operator who may do s3:GetLifecycleConfiguration: deploy/iam/doctor-policy.json"
        guard terms.tiered.isEmpty else {
            return check.warning(
                found, why: "a rule for tiered photos would delete what no device has any more", advice: advice)
        }
        return check.skipped(found, advice: advice)
    }
}
