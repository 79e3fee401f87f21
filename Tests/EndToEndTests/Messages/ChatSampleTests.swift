import Foundation
import Testing

extension EndToEnd {
    /// The sample's `chat`: peers as processes, on the real parts.
    @Suite struct ChatSample {
        @Test func `an hour later a message and its image are gone, at both peers and in the store`() throws {
            let s3 = try EndToEnd.s3()
            let options = Stack.Options(nginx: true, s3: true) { ReleasePlaces.change("delete", &$0) }
            try Stack.run("chat-sample", options) { stack in
                let chat = try SampleChat(stack, signingIn: ["anna", "ben"])
                let begin = try chat.run(
                    "all policy 1h", "anna say \(SampleChat.words)", "anna image \(chat.picture)", "ben show")
                #expect(begin.status == 0, "\(begin.text)")
                #expect(begin.text.contains("ben: from anna: \(SampleChat.words)\n"), "\(begin.text)")
                #expect(begin.text.contains("ben: What holds for new messages: 1 hour\n"), "\(begin.text)")
                let key = try #require(begin.text.firstMatch(of: /uploaded (chats\/\S+)/)).1
                #expect(try s3.head(String(key)).status == 200)
                #expect(try chat.filesWithRemnants() == [])

                let later = try chat.run("--clock", "65m", "all show", "all purge", "ben release", "anna release")
                #expect(later.status == 0, "\(later.text)")
                for line in [
                    "anna: 0 messages", "ben: 0 messages", "anna: purged: 2 messages, images to release: 1",
                    "ben: purged: 2 messages, images to release: 0", "ben: images released: 0",
                    "anna: images released: 1",
                ] { #expect(later.text.contains("\(line)\n"), "\(line): \(later.text)") }
                #expect(try [403, 404].contains(s3.head(String(key)).status))
                #expect(try chat.filesWithRemnants() == [])
                // Neither comes back with another launch.
                let again = try chat.run("all show", "all purge")
                #expect(again.text.contains("anna: 0 messages\n") && again.text.contains("ben: purged: 0 messages"))
            }
        }

        @Test func `the strictest of three holds, and what ends messages counts them first`() throws {
            let chat = try SampleChat(named: "chat-three", peers: ["anna", "ben", "carl"])
            // What the peers' clocks differ by is no second: without a relay a cut is by each one's own.
            let begin = try chat.run(
                "all policy 1w", "ben policy 1d", "anna say one", "clock 1s", "carl say two", "anna show")
            #expect(begin.status == 0, "\(begin.text)")
            #expect(begin.text.contains("anna: What holds for new messages: 1 day\n"), "\(begin.text)")
            #expect(begin.text.contains("ben: from anna: one\n") && begin.text.contains("carl: from anna: one\n"))
            // Each launch is a connect; counting removes nothing.
            let counted = try chat.run("--clock", "2h", "anna policy 1h history", "anna delete", "all show")
            #expect(counted.text.contains("anna: would be over: 2 messages;"), "\(counted.text)")
            #expect(counted.text.contains("anna: would be deleted here: 2 messages;"), "\(counted.text)")
            #expect(counted.text.components(separatedBy: ": 2 messages\n").count == 4, "\(counted.text)")
            // What anna wrote ends everywhere, and carl's at anna alone.
            let ended = try chat.run("anna policy 1h history confirm", "all show")
            #expect(ended.text.contains("anna: 0 messages\n"), "\(ended.text)")
            #expect(ended.text.contains("ben: carl: two (until") && ended.text.contains("ben: 1 message\n"))
            let deleted = try chat.run("ben delete confirm", "all show")
            #expect(deleted.text.contains("ben: deleted here: 1 message\n"), "\(deleted.text)")
            #expect(deleted.text.contains("ben: 0 messages\n") && deleted.text.contains("carl: 1 message\n"))
        }

        @Test func `what is not stored is gone with the chat`() throws {
            let chat = try SampleChat(named: "chat-memory", peers: ["anna", "ben"])
            let said = try chat.run("anna say \(SampleChat.words)", "ben show")
            #expect(said.text.contains("ben: anna: \(SampleChat.words) (until the chat closes)\n"), "\(said.text)")
            #expect(try chat.run("all show").text.contains("ben: 0 messages\n"))
            #expect(try chat.filesWithRemnants() == [])
        }

        @Test func `older messages are counted first, then moved, and their file is erased`() throws {
            let chat = try SampleChat(named: "chat-import", peers: ["anna", "ben"])
            let older = "\(chat.folder)-older"
            let now = Date().timeIntervalSinceReferenceDate
            let messages = [(1, 60.0), (2, 1800)].map { number, age in
                let text = "\(SampleChat.words) \(number)"
                return #"{"id":"m\#(number)","text":"\#(text)","timestamp":\#(now - age),"isFromSelf":true}"#
            }
            try FileManager.default.createDirectory(atPath: older, withIntermediateDirectories: true)
            for (name, content) in [("ben", "[\(messages[0]),\(messages[1])]"), ("dora", "[]"), ("notes", "no JSON")] {
                try Data(content.utf8).write(to: URL(fileURLWithPath: "\(older)/\(name).json"))
            }
            func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: older).sorted() }

            let early = try chat.run("anna import \(older) confirm")
            #expect(
                early.status == 1 && early.text.contains("stays: ben.json, nothing would be stored"), "\(early.text)")
            // Without a server nothing gets an end by this machine's clock.
            let ending = try chat.run("anna policy 1h", "anna import \(older) confirm")
            #expect(ending.text.contains("stays: ben.json, its messages have an end"), "\(ending.text)")
            #expect(try chat.run("anna show").text.contains("anna: 0 messages\n"))
            let counted = try chat.run("anna policy keep", "anna import \(older)", "anna show")
            #expect(counted.text.contains("would be moved here: 2 messages, and 0 are over;"), "\(counted.text)")
            #expect(counted.text.contains("would stay: dora.json") && counted.text.contains("anna: 0 messages\n"))
            #expect(try files() == ["ben.json", "dora.json", "notes.json"])
            // What is not understood makes it a failure.
            let moved = try chat.run("anna import \(older) confirm")
            #expect(moved.status == 1, "\(moved.text)")
            #expect(moved.text.contains("moved here: 2 messages, here before: 0, over: 0, files erased: 1\n"))
            #expect(try files() == ["dora.json", "notes.json"])
            #expect(try chat.run("anna show").text.contains("anna: anna: \(SampleChat.words) 2\n"))
            #expect(try chat.filesWithRemnants() == [])
        }

        @Test func `a chat's failure says what to do, and a wrong command line is refused with 2`() throws {
            let chat = try SampleChat(named: "chat-failures", peers: ["anna", "ben"])
            let failed = try chat.run("anna image \(chat.picture)", "ben show")
            #expect(failed.status == 1 && failed.text.contains("sign the peer in"), "\(failed.text)")
            #expect(!failed.text.contains("ben: 0 messages"))
            for step in [
                "anna", "carl show", "anna policy", "anna policy 8", "anna policy 0s", "anna policy 366d",
                "anna policy 1h confirm", "anna say", "anna show more", "anna delete now", "anna import",
                "anna import /nothing", "clock", "clock 1x",
                "clock 1h x",
            ] {
                let refused = try chat.run("anna show", step)
                #expect(refused.status == 2 && !refused.text.contains("What holds"), "\(step): \(refused.text)")
            }
            for peers in ["anna", "anna,anna", "anna,all", "anna,../ben", "clock,ben"] {
                #expect(try chat.run("--peers", peers, "anna show").status == 2, "\(peers)")
            }
            #expect(try chat.run("--clock", "later", "anna show").status == 2)
        }
    }
}

/// Peers of the sample, with a picture.
private struct SampleChat {
    let folder: String
    let peers: [String]
    let picture: String

    static let words = "words that must not be found"
    private static let pictureBytes = Data("bytes of a picture that must not be found".utf8)

    init(named name: String, peers: [String]) throws { try self.init(in: RunFolder.make(name), peers: peers) }

    init(_ stack: Stack, signingIn peers: [String]) throws {
        try self.init(in: stack.folder, peers: peers)
        let nginx = try #require(stack.nginx)
        for peer in peers {
            let token = "\(folder)-token-\(peer)"
            try Tokens.token(user: "u_\(peer)", device: peer).write(toFile: token, atomically: true, encoding: .utf8)
            let signedIn = try run([
                "sign-in", "--endpoint", "http://127.0.0.1:\(nginx.port)", "--user", "u_\(peer)", "--token-file", token,
                "--state", "\(folder)/\(peer)",
            ])
            #expect(signedIn.status == 0, "\(signedIn.text)")
        }
    }

    private init(in place: String, peers: [String]) throws {
        self.peers = peers
        folder = "\(place)/chat"
        picture = "\(place)/picture.jpg"
        try Self.pictureBytes.write(to: URL(fileURLWithPath: picture))
    }

    func run(_ words: String...) throws -> (status: Int32?, text: String) {
        try run(["chat", "--state", folder, "--peers", peers.joined(separator: ",")] + words)
    }

    private func run(_ words: [String]) throws -> (status: Int32?, text: String) {
        let program = try RunningProgram(
            try Programs.sample, words, output: "\(try RunFolder.make("chat-sample"))/output")
        defer { program.stop(SIGKILL) }
        return (try program.waitForEnd(within: .seconds(90)), program.text)
    }

    /// Files of the peers that have words or bytes of what was sent.
    func filesWithRemnants() throws -> [String] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        #expect(names.contains { $0.hasSuffix("messages.sqlite") })
        return names.filter { name in
            let content = FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()
            return [Data(Self.words.utf8), Self.pictureBytes].contains { content.range(of: $0) != nil }
        }
    }
}
