import CloakroomJOSE
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom token mint`
enum TokenMint: Command {
    static let syntax = CommandSyntax(
        "token mint", "make a token as an issuer would, to try things out",
        values: ["user": .text, "device": .text, "tier": .text, "lifetime": .text, "issuer": .text])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (file, user) = try options.settingsFileAndUser()
        let lifetime = try options.number("lifetime", 1...31_536_000, default: 3600, unit: " seconds")
        let settings = try SettingsFile.require(file)
        guard let issuer = issuer(named: options.values["issuer"], in: settings) else {
            throw .failure("the settings have no such issuer")
        }
        guard let key = signingKey(of: issuer) else {
            throw .failure("the settings have no secret of \(issuer.name): it alone can sign")
        }
        let signer = TokenSigner(issuer: issuer.name, audience: issuer.audiences[0], key: key, claims: issuer.claims)
        return Output.print(
            signer.token(
                subject: user, deviceID: options.values["device"], tier: options.values["tier"], now: Date(),
                lifetime: .seconds(lifetime)))
    }

    static func issuer(named name: String?, in settings: Settings) -> Issuer? {
        settings.tokens.issuers.first { name == nil || $0.name == name }
    }

    /// With the first algorithm that the issuer may sign with.
    static func signingKey(of issuer: Issuer) -> TokenSigningKey? {
        guard case .fixed(let keys) = issuer.keys, let secret = keys.keys.lazy.compactMap(\.secret).first else {
            return nil
        }
        return SignatureAlgorithm.allCases.lazy.filter(issuer.algorithms.contains)
            .compactMap { try? TokenSigningKey(secret, algorithm: $0) }.first
    }

    static let help = """
        Usage: cloakroom token mint --user U [--device D] [--tier T] [--lifetime SECONDS] [--issuer ISSUER] SETTINGS

        Writes a token signed with the secret of an issuer of the settings, as that issuer would. For trying things out:
        the secret allows tokens for every user.

        Options:
          --user U            the subject
          --device D          the device, by which requests are counted
          --tier T            the subscription tier; without it, the settings' default
          --lifetime SECONDS  how long it is good for; 3600
          --issuer ISSUER     which issuer of the settings; the first

        Examples:
          cloakroom token mint --user u_1 --device phone cloakroom.json5
          curl -X POST -H "Authorization: Bearer $(cloakroom token mint --user u_1 cloakroom.json5)" \\
            http://localhost:8080/api/v1/auth/sts-token
        """
}
