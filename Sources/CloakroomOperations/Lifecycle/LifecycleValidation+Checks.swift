import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension LifecycleValidation {
    /// One of the things that are to be shown.
    package struct Check: Sendable, Equatable {
        package enum Result: String, Sendable {
            case passed
            case failed
            case open
            /// The store does not tell.
            case untold
        }

        package let result: Result
        package let title: String
        package let detail: String
    }

    package func checks(_ now: Date) -> [Check] {
        [ruleCheck, moved, toldExpirations, expired(now), survived]
    }

    private var ruleCheck: Check {
        Check(
            result: rule == nil ? .open : .passed, title: "A rule expires what is not renewed",
            detail: rule ?? "not yet looked at")
    }

    private var moved: Check {
        let title = "A renewal moves LastModified"
        if let object = renewed.first(where: { $0.problem != nil }) {
            return Check(result: .failed, title: title, detail: "\(object.key): \(object.problem ?? "")")
        }
        guard renewed.allSatisfy({ !$0.renewals.isEmpty }), let first = renewed.first?.renewals.first else {
            return Check(result: .open, title: title, detail: "not yet renewed")
        }
        let count = renewed.reduce(0) { $0 + $1.renewals.count }
        return Check(
            result: .passed, title: title,
            detail: "\(count) renewals of \(renewed.count) objects, such as from \(first.from.wireText) "
                + "to \(first.to.wireText)")
    }

    private var toldExpirations: Check {
        let title = "x-amz-expiration says what is to be expected, and moves with a renewal"
        guard let object = renewed.first, let written = object.written, let last = object.lastWritten else {
            return Check(result: .open, title: title, detail: "nothing is uploaded yet")
        }
        guard let first = object.toldExpiration else {
            return Check(result: .untold, title: title, detail: "the store does not send it")
        }
        let expected = plan.clock.expiration(of: written, days: plan.days)
        if plan.clock.day < 86_400, !plan.clock.agrees(first, written: written, days: plan.days) {
            return Check(
                result: .untold, title: title,
                detail:
                    "\(first.wireText), which counts other days than those of \(TimeSpan.text(plan.clock.day)); "
                    + "it is not trusted")
        }
        guard first == expected else {
            return Check(
                result: .failed, title: title,
                detail: "\(first.wireText) for what was written at \(written.wireText); expected \(expected.wireText)")
        }
        guard !object.renewals.isEmpty else {
            return Check(result: .open, title: title, detail: "\(first.wireText) before the renewal")
        }
        let told = object.toldRenewedExpiration
        return Check(
            result: told == plan.clock.expiration(of: last, days: plan.days) ? .passed : .failed, title: title,
            detail: "from \(first.wireText) to \(told?.wireText ?? "nothing")")
    }

    private func expired(_ now: Date) -> Check {
        let title = "What is not renewed expires"
        let end = controlsExpire?.wireText ?? ""
        if let early = controls.first(where: { isEarly($0) }) {
            return Check(
                result: .failed, title: title,
                detail: "\(early.key) was gone at \(early.missed?.wireText ?? ""), before its expiration at \(end)")
        }
        if let broken = controls.first(where: { $0.problem != nil }) {
            return Check(result: .failed, title: title, detail: "\(broken.key): \(broken.problem ?? "")")
        }
        let gone = controls.compactMap(\.missed)
        if gone.count == controls.count, let last = gone.max() {
            return Check(
                result: .passed, title: title,
                detail: "all \(gone.count) were gone at \(last.wireText); they expired at \(end)")
        }
        let detail = "\(gone.count) of \(controls.count) are gone; they expire at \(end)"
        return Check(result: verdict(now) == .failed ? .failed : .open, title: title, detail: detail)
    }

    private var survived: Check {
        let title = "What is renewed lives on past its first expiration"
        if let lost = renewed.first(where: { $0.missed != nil }) {
            let expiration = expiration(lost)?.wireText ?? ""
            return Check(
                result: isEarly(lost) ? .failed : .open, title: title,
                detail: isEarly(lost)
                    ? "\(lost.key) was gone at \(lost.missed?.wireText ?? ""), though renewed until \(expiration)"
                    : "\(lost.key) was not renewed before \(expiration): this command did not run in time")
        }
        if let late = renewed.first(where: { cameLate($0) }) {
            return Check(
                result: .open, title: title,
                detail: "\(late.key) was not renewed before \(firstExpiration(late)?.wireText ?? ""): "
                    + "this command did not run in time")
        }
        guard let seen = survivors, let end = renewed.compactMap({ firstExpiration($0) }).max() else {
            return Check(result: .open, title: title, detail: "shown once the others are gone")
        }
        return Check(
            result: .passed, title: title,
            detail: "all \(renewed.count) were there, byte for byte, at \(seen.wireText); without the renewal they "
                + "would have expired at \(end.wireText)")
    }
}
