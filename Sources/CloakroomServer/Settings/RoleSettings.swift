import CloakroomAWS

extension SettingsTable {
    /// One of `vending.roles`.
    struct Role: SettingsGroup {
        let name = SettingsKey(
            required: "name", .text(.scope),
            "A label of metrics; also what decides which users have the role, so a new name moves them. `main` is the role"
                + " of `vending.roleARN`.")
        let roleARN = SettingsKey(
            optional: "roleARN", .text(.roleARN), "The role that these users' sessions assume; null: `vending.roleARN`."
        )
        let externalID = SettingsKey(
            optional: "externalID", .text(.externalID),
            "The external ID that its trust policy requires; null: `vending.externalID`.")
        let profile = SettingsKey(
            optional: "profile", .text(.any),
            "A profile of the shared files, whose credentials call STS for this role: AWS counts the call in their account."
                + " null: the worker's own.")
        let stsRegion = SettingsKey(
            optional: "stsRegion", .text(.region),
            "The Region whose STS is called; credentials hold in all of them. null: as for `main`.")
        let stsEndpoint = SettingsKey(
            optional: "stsEndpoint", .text(.endpoint), "Another STS; null: that of `stsRegion`, else as for `main`.")
        let retired = SettingsKey(
            "retired", .flag, default: false,
            "Whether the role has users no more: it stays here for 12 hours, so that a revocation reaches the sessions that"
                + " are out.")
    }
}

/// Makes the roles of `vending.roleARN` and `vending.roles`, or tells what of them does not go together.
struct RoleSettings {
    static let maximumRoles = 16

    let values: SettingsValues<SettingsTable>
    let access: Settings.AWSAccess

    /// - Returns: `nil` where a key has a fault of its own.
    func roles() throws(SettingsError) -> SessionRoles? {
        guard let main, let others = values.valid(\.vending.roles) ?? (values.isValid(\.vending.roles) ? [] : nil),
            others.allSatisfy(\.areValid)
        else { return nil }
        guard others.count < Self.maximumRoles else {
            throw values.fault(
                \.vending.roles, "has \(others.count) roles", "give \(Self.maximumRoles - 1) at most")
        }
        var active = [main]
        var retired: [SessionRole] = []
        for values in others {
            let role = try role(values, main)
            guard !(active + retired).contains(where: { $0.name == role.name }) else {
                throw values.fault(
                    \.name, "is \"\(role.name)\", as of another role", "give each role a name of its own")
            }
            if values.retired {
                retired.append(role)
                continue
            }
            if let same = active.first(where: { $0.calls(likeThoseOf: role) && $0.arn == role.arn }) {
                throw values.fault(
                    \.name, "is a role that differs from \(same.name) in its name only",
                    "give it a roleARN, profile, stsRegion or stsEndpoint of its own")
            }
            active.append(role)
        }
        return SessionRoles(active: active, retired: retired)
    }

    private var main: SessionRole? {
        guard let arn = values.valid(\.vending.roleARN), values.isValid(\.vending.externalID) else { return nil }
        return SessionRole(
            name: SessionRole.mainName, arn: arn, externalID: values.vending.externalID, profile: nil, sts: access.sts)
    }

    private func role(
        _ values: SettingsValues<SettingsTable.Role>, _ main: SessionRole
    ) throws(SettingsError) -> SessionRole {
        let partition = Partition(region: self.values.region).identifier
        if let arn = values.roleARN, Settings.Vending.partition(ofRole: arn) != partition {
            throw values.fault(
                \.roleARN, "is not in the partition \(partition) of \(self.values.region)",
                "give a role of \(partition)")
        }
        if let region = values.stsRegion, Partition(region: region).identifier != partition {
            throw values.fault(
                \.stsRegion, "is \(region), outside the partition \(partition) of the bucket",
                "give a Region of \(partition)")
        }
        return SessionRole(
            name: values.name, arn: values.roleARN ?? main.arn, externalID: values.externalID ?? main.externalID,
            profile: values.profile, sts: try endpoint(values))
    }

    private func endpoint(_ values: SettingsValues<SettingsTable.Role>) throws(SettingsError) -> Endpoint {
        let (region, url) = (values.stsRegion, values.stsEndpoint)
        guard region != nil || url != nil else { return access.sts }
        do throws(EndpointError) {
            // FIPS and dual stack name endpoints of AWS's own.
            return try .sts(
                region: region ?? self.values.region,
                variants: url == nil ? access.buckets.variants : EndpointVariants(),
                custom: url)
        } catch {
            throw url == nil
                ? values.fault(\.stsRegion, "has no STS of that kind", "give another Region, or stsEndpoint")
                : values.fault(\.stsEndpoint, "is no URL of http or https", "give scheme, host and port")
        }
    }
}

extension SessionRole {
    /// Whether AWS counts both roles' calls together: those of one account at one Region's STS.
    package func calls(likeThoseOf other: SessionRole) -> Bool {
        profile == other.profile && sts.url == other.sts.url && sts.signingRegion == other.sts.signingRegion
    }
}
