// The open Foundation has no background sessions.
#if !canImport(FoundationNetworking)
    public import Foundation

    /// Carries uploads by a background session: the system sends them while the app is suspended, and after it was ended by
    /// the system, and launches it when they are done.
    ///
    /// Make one at each launch of the app, before anything else, keep it for as long as the process runs, and give it to the outbox
    /// of each user in turn: what two sessions of one identifier do in a process is undefined. Pass what the system calls
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)` with to ``handleEvents(completion:)``. A user
    /// who ends the app in the app switcher ends its transfers, too; the outbox begins them anew.
    public final class BackgroundSessionCarrier: TransferCarrier {
        /// Of the session: the one that the system launches the app with.
        public let identifier: String
        private let session: URLSession
        private let transfers = BackgroundTransfers()
        private let bodies: BackgroundBodies

        /// - Parameters:
        ///   - identifier: the app's own, the same at each launch and for all users.
        ///   - folder: for parts of files on their way.
        ///   - networkAccess: which networks the system may use.
        ///   - isDiscretionary: whether the system may wait for power and Wi-Fi, by its own judgement.
        public init(
            identifier: String, folder: URL, networkAccess: NetworkAccess = .unrestricted,
            isDiscretionary: Bool = false
        ) {
            self.identifier = identifier
            bodies = BackgroundBodies(folder: folder)
            let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
            configuration.isDiscretionary = isDiscretionary
            configuration.sessionSendsLaunchEvents = true
            configuration.allowsExpensiveNetworkAccess = networkAccess.allowsExpensive
            configuration.allowsConstrainedNetworkAccess = networkAccess.allowsConstrained
            configuration.timeoutIntervalForResource = 86_400
            configuration.urlCache = nil
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCredentialStorage = nil
            session = URLSession(
                configuration: configuration, delegate: BackgroundSessionDelegate(transfers, bodies),
                delegateQueue: URLSessionExchangeDelegate.makeQueue())
        }

        /// The system launched the app for this session.
        ///
        /// - Parameter completion: the system's, called on the main thread when all events have come.
        public func handleEvents(completion: @escaping @MainActor @Sendable () -> Void) {
            transfers.handleEvents {
                Task { @MainActor in completion() }
            }
        }

        public func start(_ request: HTTPRequest, id: String) async throws {
            let file = try await bodies.file(of: request, id: id)
            let head: URLRequest
            do { head = try URLRequest(request) } catch { throw CloakroomError(error) }
            let task = session.uploadTask(with: head, fromFile: file)
            task.taskDescription = id
            task.resume()
        }

        public func transfersUnderWay() async -> Set<String> {
            let ids = Set(await session.allTasks.filter { $0.state != .completed }.compactMap(\.taskDescription))
            bodies.removeAll(but: ids)
            return ids
        }

        public func cancel(id: String) async {
            await transfers.end(id) { [session] in
                let tasks = await session.allTasks.filter { $0.taskDescription == id && $0.state != .completed }
                for task in tasks { task.cancel() }
                return !tasks.isEmpty
            }
        }

        public func outlivesProcess() async -> Bool { true }

        public func events() async -> AsyncStream<TransferEvent> { transfers.events.stream() }
    }

    /// Forwards a session's delegate calls.
    private final class BackgroundSessionDelegate: NSObject, URLSessionDataDelegate {
        private let transfers: BackgroundTransfers
        private let bodies: BackgroundBodies

        init(_ transfers: BackgroundTransfers, _ bodies: BackgroundBodies) {
            self.transfers = transfers
            self.bodies = bodies
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) {
            if let id = task.taskDescription { transfers.didSend(id, bytesSent: totalBytesSent) }
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            if let id = dataTask.taskDescription { transfers.didReceive(id, data) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            guard let id = task.taskDescription else { return }
            bodies.remove(id)
            let head = (task.response as? HTTPURLResponse).map { HTTPResponseHead($0) }
            transfers.didEnd(id, head, error.map { HTTPTransportError($0) })
        }

        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            transfers.didReceiveAllEvents()
        }
    }
#endif
