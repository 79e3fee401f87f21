import CloakroomCrypto

/// A profile of the shared config and credentials files.
///
/// Source: botocore 1.44.5, `credentials.py`: `role_arn`, then `web_identity_token_file`, keys of the credentials file,
/// `credential_process`, keys of the config file.
struct ProfileProvider: AWSCredentialProvider {
    /// Which profiles are meant: those with `role_arn` stand before the web identity of the environment, all others
    /// behind it.
    enum Part: Sendable { case roles, others }

    let part: Part
    let dependencies: CredentialChainDependencies
    var name: ProviderName { part == .roles ? .roleProfile : .profile }

    func expectedOrigin() throws(CredentialProviderError) -> String {
        let (profile, _) = try chosen()
        let role = profile["role_arn"].map { ", role \($0)" }
        switch part {
        case .roles: return "profile \(profile.name)\(role ?? "")"
        case .others:
            if role != nil { return "profile \(profile.name)\(role ?? "")" }
            if try keys(profile.credentials, of: profile) == nil, profile["credential_process"] != nil {
                return "profile \(profile.name), credential_process"
            }
            guard profile.hasKeys else { throw noneOf(profile) }
            return "profile \(profile.name)"
        }
    }

    private func chosen() throws(CredentialProviderError) -> (SharedProfiles.Profile, SharedProfiles) {
        let profiles = try SharedProfiles(
            environment: dependencies.environment, profile: dependencies.profile, readFile: dependencies.readFile)
        guard let profile = profiles.profile(profiles.chosen) else {
            guard profiles.isNamed else { throw .notConfigured("there is no profile default") }
            throw .failed("there is no profile \(profiles.chosen)")
        }
        guard part == .others || profile.assumesRole else {
            throw .notConfigured("profile \(profile.name) has no role_arn")
        }
        return (profile, profiles)
    }

    func credentials() async throws(CredentialProviderError) -> ProvidedCredentials {
        let (profile, profiles) = try chosen()
        switch part {
        case .roles:
            return try await throughRole(profile, of: profiles, visited: [])
        case .others:
            guard let found = try await directly(profile) else { throw noneOf(profile) }
            return found
        }
    }

    private func noneOf(_ profile: SharedProfiles.Profile) -> CredentialProviderError {
        guard profile.isForPeople else { return .notConfigured("profile \(profile.name) holds no credentials") }
        return .failed(
            "profile \(profile.name) is of IAM Identity Center or `aws login`, where a person signs in; "
                + "give it role_arn, credential_process or keys")
    }

    // MARK: A profile with a role

    private func throughRole(
        _ profile: SharedProfiles.Profile, of profiles: SharedProfiles, visited: [String]
    ) async throws(CredentialProviderError) -> ProvidedCredentials {
        guard !visited.contains(profile.name) else {
            throw .failed("source_profile goes in a circle: \((visited + [profile.name]).joined(separator: " → "))")
        }
        guard let arn = profile["role_arn"] else { throw .notConfigured("profile \(profile.name) has no role_arn") }
        guard profile["mfa_serial"] == nil else {
            throw .failed("profile \(profile.name) has mfa_serial, and a service cannot enter a code")
        }
        let source = try await source(of: profile, in: profiles, visited: visited + [profile.name])
        var role = RoleProvider.Role(
            arn: arn, sessionName: profile["role_session_name"], externalID: profile["external_id"])
        if let text = profile["duration_seconds"] {
            guard let seconds = Int(text), (900...43_200).contains(seconds) else {
                throw .failed("profile \(profile.name): duration_seconds is no number from 900 to 43200")
            }
            role.duration = .seconds(seconds)
        }
        let credentials = try await RoleProvider(dependencies: dependencies).assume(role, with: source.credentials)
        return ProvidedCredentials(credentials, origin: "profile \(profile.name), role \(arn)")
    }

    private func source(
        of profile: SharedProfiles.Profile, in profiles: SharedProfiles, visited: [String]
    ) async throws(CredentialProviderError) -> ProvidedCredentials {
        switch (profile["source_profile"], profile["credential_source"]) {
        case (let name?, nil):
            guard let source = profiles.profile(name) else {
                throw .failed("profile \(profile.name): there is no source_profile \(name)")
            }
            // A profile may be its own source: then its keys are meant, not its role.
            if name != profile.name, source.assumesRole {
                return try await throughRole(source, of: profiles, visited: visited)
            }
            if name == profile.name, !source.hasKeys {
                throw .failed("source_profile goes in a circle: \(name) → \(name)")
            }
            guard let found = try await directly(source) else {
                throw .failed("profile \(name), the source of \(profile.name), holds no credentials")
            }
            return found
        case (nil, let name?):
            return try await named(name, for: profile)
        case (nil, nil):
            throw .failed("profile \(profile.name) has role_arn, but neither source_profile nor credential_source")
        case (.some, .some):
            throw .failed("profile \(profile.name) has both source_profile and credential_source")
        }
    }

    private func named(
        _ source: String, for profile: SharedProfiles.Profile
    ) async throws(CredentialProviderError) -> ProvidedCredentials {
        let provider: any AWSCredentialProvider
        switch source {
        case "Environment": provider = EnvironmentProvider(dependencies: dependencies)
        case "EcsContainer": provider = ContainerProvider(dependencies: dependencies)
        case "Ec2InstanceMetadata": provider = InstanceProvider(dependencies: dependencies)
        default:
            throw .failed(
                "profile \(profile.name): credential_source is none of Environment, EcsContainer, Ec2InstanceMetadata")
        }
        do throws(CredentialProviderError) {
            return try await provider.credentials()
        } catch {
            throw .failed("profile \(profile.name), credential_source \(source): \(error.reason)")
        }
    }

    // MARK: A profile with credentials of its own

    /// - Returns: `nil` when it has none.
    private func directly(_ profile: SharedProfiles.Profile) async throws(CredentialProviderError)
        -> ProvidedCredentials?
    {
        let origin = "profile \(profile.name)"
        if let file = profile["web_identity_token_file"] {
            guard let arn = profile["role_arn"] else {
                throw .failed("\(origin) has web_identity_token_file, but no role_arn")
            }
            let role = RoleProvider.Role(arn: arn, sessionName: profile["role_session_name"])
            let credentials = try await RoleProvider(dependencies: dependencies).assume(role) {
                () throws(CredentialProviderError) in
                try dependencies.token(file: file, of: "web_identity_token_file")
            }
            return ProvidedCredentials(credentials, origin: "\(origin), role \(arn)")
        }
        if let keys = try keys(profile.credentials, of: profile) { return ProvidedCredentials(keys, origin: origin) }
        if let command = profile["credential_process"] {
            do throws(CredentialProviderError) {
                let credentials = try await ProcessProvider(command: command, dependencies: dependencies).credentials()
                return ProvidedCredentials(credentials, origin: "\(origin), credential_process")
            } catch {
                throw .failed("\(origin): \(error.reason)")
            }
        }
        if let keys = try keys(profile.config, of: profile) { return ProvidedCredentials(keys, origin: origin) }
        if profile.isForPeople { throw noneOf(profile) }
        return nil
    }

    private func keys(
        _ properties: [String: String], of profile: SharedProfiles.Profile
    ) throws(CredentialProviderError) -> Credentials? {
        func property(_ name: String) -> String? { properties[name].flatMap { $0.isEmpty ? nil : $0 } }
        guard let id = property("aws_access_key_id") else { return nil }
        guard let secret = property("aws_secret_access_key") else {
            throw .failed("profile \(profile.name) has aws_access_key_id, but no aws_secret_access_key")
        }
        return Credentials(
            accessKeyID: id, secretAccessKey: Secret(secret),
            sessionToken: (property("aws_session_token") ?? property("aws_security_token")).map { Secret($0) })
    }
}

extension SharedProfiles.Profile {
    /// With a token file the role is that of a web identity.
    fileprivate var assumesRole: Bool { self["role_arn"] != nil && self["web_identity_token_file"] == nil }
    fileprivate var hasKeys: Bool { self["aws_access_key_id"] != nil }
    fileprivate var isForPeople: Bool {
        ["sso_session", "sso_start_url", "sso_account_id", "sso_role_name", "login_session"]
            .contains { self[$0] != nil }
    }
}
