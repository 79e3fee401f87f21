package import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is kept between two runs; times are in seconds since 1970.
extension LifecycleValidation {
    package var state: JSON {
        let (endpoint, region) = (plan.location?.endpoint, plan.location?.region)
        let requestedDays = plan.requestedDays.map { Double($0) }
        return [
            "version": .number(1), "id": .string(plan.id), "bucket": .string(plan.bucket),
            "ownsBucket": .bool(plan.ownsBucket),
            "endpoint": endpoint.map(JSON.string) ?? .null, "region": region.map(JSON.string) ?? .null,
            "requestedDays": requestedDays.map(JSON.number) ?? .null,
            "days": .number(Double(plan.days)), "daySeconds": .number(plan.clock.day),
            "graceSeconds": .number(plan.grace / .seconds(1)), "pairs": .number(Double(plan.pairs)),
            "started": .time(plan.started), "rule": rule.map(JSON.string) ?? .null, "lastLook": .time(lastLook),
            "objects": .array(objects.map(\.state)),
        ]
    }

    /// - Returns: `nil` for what ``state`` does not give.
    package init?(state: JSON) {
        guard let object = state.object, object["version"]?.integer == 1, let id = object["id"]?.string,
            let bucket = object["bucket"]?.string, let ownsBucket = object["ownsBucket"]?.bool,
            let days = object["days"]?.integer, let day = object["daySeconds"]?.number, day > 0, day <= 1e6,
            let grace = object["graceSeconds"]?.number, grace >= 0, grace <= 1e9,
            let pairs = object["pairs"]?.integer, (1...100).contains(pairs), let started = object["started"]?.time,
            let objects = object["objects"]?.array?.map({ Object(state: $0) }), objects.count == 2 * pairs
        else { return nil }
        var location: BucketLocation?
        if let endpoint = object["endpoint"]?.string, let region = object["region"]?.string {
            location = BucketLocation(bucket: bucket, endpoint: endpoint, region: region)
        }
        plan = Plan(
            id: id, bucket: bucket, ownsBucket: ownsBucket, location: location, days: days,
            clock: ExpirationClock(dayLength: .seconds(day)),
            grace: .seconds(grace), pairs: pairs, started: started)
        plan.requestedDays = object["requestedDays"]?.integer
        rule = object["rule"]?.string
        lastLook = object["lastLook"]?.time
        self.objects = objects.compactMap(\.self)
        guard self.objects.count == objects.count else { return nil }
    }
}

extension LifecycleValidation.Object {
    fileprivate var state: JSON {
        [
            "key": .string(key), "role": .string(role.rawValue), "written": .time(written),
            "toldExpiration": .time(toldExpiration),
            "renewals": .array(renewals.map { ["from": .time($0.from), "to": .time($0.to)] }),
            "toldRenewedExpiration": .time(toldRenewedExpiration), "lastSeen": .time(lastSeen),
            "missed": .time(missed), "trouble": problem.map(JSON.string) ?? .null,
        ]
    }

    fileprivate init?(state: JSON) {
        guard let object = state.object, let key = object["key"]?.string,
            let role = object["role"]?.string.flatMap({ Role(rawValue: $0) }), let list = object["renewals"]?.array
        else { return nil }
        self.init(key: key, role: role)
        written = object["written"]?.time
        toldExpiration = object["toldExpiration"]?.time
        for renewal in list {
            guard let from = renewal.object?["from"]?.time, let to = renewal.object?["to"]?.time else { return nil }
            renewals.append(.init(from: from, to: to))
        }
        toldRenewedExpiration = object["toldRenewedExpiration"]?.time
        lastSeen = object["lastSeen"]?.time
        missed = object["missed"]?.time
        problem = object["trouble"]?.string
    }
}

extension JSON {
    /// In seconds since 1970; `null` for none.
    static func time(_ date: Date?) -> JSON { date.map { .number($0.timeIntervalSince1970) } ?? .null }

    var time: Date? { number.map { Date(timeIntervalSince1970: $0) } }
}
