import CloakroomJOSE
package import CloakroomServer

/// Fetches an issuer's keys once, as a worker would, and checks them.
package struct KeySetFindings {
    private let issuer: Issuer
    private let check = CheckName.keys

    package init(_ issuer: Issuer) { self.issuer = issuer }

    package func all(by fetcher: KeyFetcher) async -> [Finding] {
        do throws(KeyFetchError) {
            switch issuer.keys {
            case .fixed(let set): return evaluated(set, at: nil)
            case .address(let url): return evaluated(try await fetcher.keys(at: url).keys, at: url)
            case .discovery:
                let url = try await fetcher.discover(issuer: issuer.name)
                return evaluated(try await fetcher.keys(at: url).keys, at: url)
            }
        } catch {
            return [failed(error)]
        }
    }

    private func failed(_ failure: KeyFetchError) -> Finding {
        let (found, advice) =
            switch failure {
            case .unreachable: ("cannot be reached", "fix the address, the name server or the firewall")
            case .untrusted:
                ("have a certificate that is not trusted", "give its authority as tokens.certificateAuthorities")
            case .timeout: ("do not come in time", "look at the route and the firewall")
            case .interrupted, .tooLarge, .status, .cancelled:
                (
                    "do not come as they should (\(failure.rawValue))",
                    "send a request to the address with curl -i: redirects are not followed"
                )
            case .unusable: ("hold none of use", "ask the issuer for a JWK set of RSA of 2048 bits, P-256 or Ed25519")
            case .wrongIssuer:
                (
                    "are named by another issuer's discovery document",
                    "write tokens.issuers' issuer as the document does"
                )
            }
        return check.error(
            "\(issuer.name): its keys \(found)", why: "its tokens cannot be verified: its users are refused",
            advice: advice)
    }

    func evaluated(_ set: KeySet, at address: String?) -> [Finding] {
        let names = issuer.algorithms.map(\.rawValue).sorted().joined(separator: ", ")
        let served = Set(set.keys.flatMap(\.algorithms)).intersection(issuer.algorithms)
        var findings: [Finding] = []
        if served.isEmpty {
            findings.append(
                check.error(
                    "\(issuer.name): none of its keys serves \(names)",
                    why: "its tokens cannot be verified: its users are refused",
                    advice: "set algorithms to what its tokens are signed with"))
        } else {
            let source = address.map { "at \($0)" } ?? "of the settings"
            let idle = issuer.algorithms.subtracting(served).map(\.rawValue).sorted()
            findings.append(
                idle.isEmpty || issuer.algorithms == [.rs256, .es256]
                    ? check.ok("\(issuer.name): \(set.keys.count) keys \(source) for \(names)")
                    : check.warning(
                        "\(issuer.name): no key serves \(idle.joined(separator: ", "))",
                        why: "who could put a key there could choose its algorithm",
                        advice: "take them out of algorithms"))
        }
        let unnamed = set.keys.count { $0.keyID == nil }
        if address != nil, unnamed > 0, set.keys.count > 1 {
            findings.append(
                check.warning(
                    "\(issuer.name): \(unnamed) of its keys have no kid",
                    why: "which key a token is signed with cannot be told", advice: "ask the issuer to name them"))
        }
        return findings + set.refusals.compactMap(refused)
    }

    /// Keys of other uses and kinds stand beside those we want in many a set; a weak one does not belong there.
    private func refused(_ refusal: KeySet.Refusal) -> Finding? {
        switch refusal.fault {
        case .otherUse, .otherAlgorithm, .unsupportedKind: return nil
        case .badMember, .secretInTheOpen, .unfit:
            let name = refusal.keyID.map { "the key \($0.prefix(64))" } ?? "its key at place \(refusal.place + 1)"
            return check.warning(
                "\(issuer.name): \(name) \(refusal.fault)", why: "tokens signed with it are refused",
                advice: "ask the issuer to take it out of its set")
        }
    }
}
