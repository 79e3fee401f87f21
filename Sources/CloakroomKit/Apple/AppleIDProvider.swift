#if canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation

    /// What Apple says of the users who signed in with Apple, for an ``AppleIDWatch``.
    public struct AppleIDProvider: AppleIDStateSource {
        public init() {}

        public func state(ofAppleUser user: String) async throws -> AppleIDState {
            switch try await ASAuthorizationAppleIDProvider().credentialState(forUserID: user) {
            case .authorized: return .authorized
            case .revoked: return .revoked
            case .notFound: return .notFound
            case .transferred: return .transferred
            @unknown default: throw CloakroomError(.unknown, "Apple says something new of the user")
            }
        }

        public func revocations() async -> AsyncStream<Void> {
            // A second one while the first is looked into adds nothing.
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let center = NotificationCenter.default
            // An opaque token, which the center alone uses.
            nonisolated(unsafe) let observer = center.addObserver(
                forName: ASAuthorizationAppleIDProvider.credentialRevokedNotification, object: nil, queue: nil
            ) { _ in continuation.yield() }
            continuation.onTermination = { _ in NotificationCenter.default.removeObserver(observer) }
            return stream
        }
    }
#endif
