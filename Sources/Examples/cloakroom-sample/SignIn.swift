import CloakroomKit
import Foundation

/// `cloakroom-sample sign-in`
enum SignIn {
    static func run(_ arguments: [String]) async throws -> Int32 {
        let options = try Options(
            arguments,
            names: ["state", "endpoint", "s3-endpoint", "user", "token-file", "identity-token-file", "nonce"])
        if options.wantsHelp { return Console.print(help) }
        guard let endpoint = options.values["endpoint"].flatMap(URL.init(string:)) else {
            throw UsageError("sign-in needs --endpoint")
        }
        let s3Endpoint = options.values["s3-endpoint"].flatMap(URL.init(string:))
        let account: Account
        if let file = options.values["identity-token-file"] {
            let identity = SignInIdentity(token: try text(of: file), nonce: options.values["nonce"])
            account = try await Account(
                endpoint: endpoint, s3Endpoint: s3Endpoint, identity: identity, options)
        } else if let file = options.values["token-file"], let user = options.values["user"], !user.isEmpty {
            account = Account(
                endpoint: endpoint, s3Endpoint: s3Endpoint, userID: user, token: try text(of: file))
            // Whether the worker accepts it.
            _ = try await account.client(over: SampleTransport()).vendCredentials()
        } else {
            throw UsageError("sign-in needs --user and --token-file, or --identity-token-file")
        }
        try account.save(options)
        return Console.print("signed in as \(account.userID)")
    }

    private static func text(of file: String) throws -> String {
        guard let data = try FileHandle(forReadingAtPath: file)?.readToEnd() else {
            throw UsageError("\(file) has no token")
        }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static let help = """
        Usage: cloakroom-sample sign-in --endpoint URL [--s3-endpoint URL] --user U --token-file FILE
               cloakroom-sample sign-in --endpoint URL [--s3-endpoint URL] --identity-token-file FILE [--nonce N]

        Keeps the account: with a token that the worker accepts, such as one of `cloakroom token mint`, or with an identity
        token of Sign in with Apple or another issuer, for which the worker gives a session. Later commands continue the
        session before it ends; after a revocation they fail until the next sign-in.

        Options:
          --endpoint URL             of the worker
          --s3-endpoint URL          of a store that is not AWS
          --user U                   whose token it is
          --token-file FILE          has the token; /dev/stdin too
          --identity-token-file FILE has an identity token; it is good for one sign-in
          --nonce N                  the nonce that the identity token was requested with

        Examples:
          cloakroom token mint --user u_1 --device laptop cloakroom.json5 |
            cloakroom-sample sign-in --endpoint http://127.0.0.1:18080 --s3-endpoint http://127.0.0.1:18333 \\
              --user u_1 --token-file /dev/stdin
          cloakroom token mint --issuer https://accounts.localhost --user 001.a cloakroom.json5 |
            cloakroom-sample sign-in --endpoint http://127.0.0.1:18080 --s3-endpoint http://127.0.0.1:18333 \\
              --identity-token-file /dev/stdin
        """
}
