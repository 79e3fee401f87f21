import CloakroomTestSupport
import Foundation
import Testing

extension EndToEnd {
    /// Folders that one user lets another read, asked of stores that enforce session policies.
    @Suite struct SharedFolders {
        private func user(_ stack: Stack, _ words: String..., status: Int32 = 0) throws -> String {
            let command = try Command(
                ["user"] + words + [stack.settingsFile], environment: stack.options.environment)
            #expect(command.status == status, "\(words): \(command.text)")
            return command.text
        }

        private func vended(_ user: String, _ stack: Stack) throws -> (credentials: Vended, reply: TestResponse) {
            let reply = try stack.askNginx(.vend(Tokens.token(user: user)))
            return (try Vended(reply), reply)
        }

        private static func options() -> Stack.Options {
            Stack.Options(nginx: true, s3: true) {
                $0["vending.sharing"] = true
                $0["vending.store"] = "seaweedfs"
            }
        }

        private static func base() throws -> String { "\(try EndToEnd.s3().url)/\(SeaweedFS.bucket)" }

        @Test func `a shared folder can be read and listed, no other, and nothing changed there`() throws {
            try Stack.run("share", Self.options()) { stack in
                let base = try Self.base()
                let (owner, _) = try vended("sh_1", stack)
                for key in ["albums/x/a.jpg", "albums/y/b.jpg", "albums/xy/c.jpg"] {
                    #expect(try owner.ask("PUT", "\(base)/photos/sh_1/\(key)").status == 200)
                }
                let album = "photos/sh_1/albums/x/"
                let before = try vended("sh_2", stack)
                #expect(before.reply.json["shared"] == nil)
                let told = try user(stack, "share", "sh_1", "--with", "sh_2", "--prefix", album, "--until", "+1h")
                #expect(told.contains("sh_2 reads \(album) until "))
                let (friend, reply) = try vended("sh_2", stack)
                #expect(friend.key != before.credentials.key)
                let shared = try #require(reply.json["shared"] as? [[String: String]])
                #expect(shared.map { $0["prefix"] } == [album] && shared.map { $0["owner"] } == ["sh_1"])
                #expect(try friend.ask("GET", "\(base)/\(album)a.jpg").text == "bytes")
                #expect(try friend.ask("GET", "\(base)?list-type=2&prefix=photos%2Fsh_1%2Falbums%2Fx%2F").status == 200)
                for key in ["albums/y/b.jpg", "albums/xy/c.jpg"] {
                    #expect(try friend.ask("GET", "\(base)/photos/sh_1/\(key)").status == 403, "\(key)")
                }
                #expect(try friend.ask("GET", "\(base)?list-type=2&prefix=photos%2Fsh_1%2F").status == 403)
                #expect(try friend.ask("PUT", "\(base)/\(album)planted.jpg").status == 403)
                #expect(try friend.ask("DELETE", "\(base)/\(album)a.jpg").status == 403)
                #expect(try friend.ask("PUT", "\(base)/photos/sh_2/own.jpg").status == 200)
                #expect(try vended("sh_2", stack).credentials.key == friend.key, "cached as ever")
                #expect(try before.credentials.ask("GET", "\(base)/\(album)a.jpg").status == 403)
                let audit = RunFolder.text(of: stack.auditFile).split(separator: "\n")
                    .filter { $0.contains(#""user":"sh_2""#) }
                #expect(audit.map { $0.contains(#""shared":["\#(album)"]"#) } == [false, true, true])
                let upload = try Vended(try stack.askNginx(.vend(Tokens.token(user: "sh_2"), scope: "upload")))
                #expect(try upload.ask("GET", "\(base)/\(album)a.jpg").status == 403)
            }
        }

        @Test func `what is shared ends with the command, and with either user`() throws {
            try Stack.run("unshare", Self.options()) { stack in
                let base = try Self.base()
                for (number, end) in ["unshare", "disable owner", "revoke owner", "delete owner", "disable", "delete"]
                    .enumerated()
                {
                    let (one, two) = ("us_\(number)", "ut_\(number)")
                    let album = "photos/\(one)/x/"
                    let (owner, _) = try vended(one, stack)
                    #expect(try owner.ask("PUT", "\(base)/\(album)a.jpg").status == 200)
                    _ = try user(stack, "share", one, "--with", two, "--prefix", album, "--until", "+1h")
                    let (friend, _) = try vended(two, stack)
                    #expect(try friend.ask("GET", "\(base)/\(album)a.jpg").status == 200)
                    #expect(try user(stack, "shares", one).contains("shares \(album) with \(two) until "))
                    #expect(try user(stack, "shares", two).contains("reads \(album) of \(one) until "))
                    switch end {
                    case "unshare":
                        let told = try user(stack, "unshare", one, "--with", two)
                        #expect(told.contains("no credentials vended to \(two) from now on read that"))
                        _ = try user(stack, "unshare", one, "--with", two, status: 1)
                    case "disable owner": _ = try user(stack, "disable", one)
                    case "revoke owner": _ = try user(stack, "revoke", one, "--keep-enabled")
                    case "delete owner": _ = try user(stack, "delete", one)
                    case "disable":
                        _ = try user(stack, "disable", two)
                        _ = try user(stack, "enable", two)
                    default: _ = try user(stack, "delete", two)
                    }
                    let (later, reply) = try vended(two, stack)
                    #expect(reply.json["shared"] == nil, "\(end)")
                    #expect(try later.ask("GET", "\(base)/\(album)a.jpg").status == 403, "\(end)")
                    for name in [one, two] {
                        let told = try user(stack, "shares", name)
                        #expect(told.contains("shares nothing, and nothing is shared"), "\(end): \(told)")
                    }
                }
            }
        }

        @Test func `the doctor tries what another user shares`() throws {
            try Stack.run("share-doctor", Self.options()) { stack in
                let command = try Command(
                    ["doctor", "--settings", stack.settingsFile, "--only", "scopes"], within: .seconds(60))
                #expect(command.text.contains("full: what another user shares can be listed"), "\(command.text)")
            }
        }

        @Test func `what a folder above still shares is said when one within is unshared`() throws {
            try Stack.run("unshare-within", Self.options()) { stack in
                for prefix in ["photos/uw_1/", "photos/uw_1/x/"] {
                    _ = try user(stack, "share", "uw_1", "--with", "uw_2", "--prefix", prefix, "--until", "+1h")
                }
                let told = try user(stack, "unshare", "uw_1", "--with", "uw_2", "--prefix", "photos/uw_1/x/")
                let above =
                    "uw_2 reads it all the same, below photos/uw_1/, until: cloakroom user unshare uw_1 --with uw_2"
                #expect(told.contains(above), "\(told)")
                // The same where nothing is left to unshare, and of what lies within what was never shared.
                let words = ["user", "unshare", "uw_1", "--with", "uw_2", "--prefix"]
                let again = try Command(words + ["photos/uw_1/x/", stack.settingsFile])
                #expect(again.status == 1 && again.text.contains(above), "\(again.text)")
                let whole = try Command(words + ["photos/", stack.settingsFile])
                #expect(
                    whole.status == 1 && whole.text.contains("uw_2 reads photos/uw_1/ all the same"), "\(whole.text)")
                // Whatever a revocation ends is listed: others' as well.
                let revoke = try user(stack, "revoke", "uw_2", "--keep-enabled")
                #expect(revoke.contains("ended: uw_1 shared photos/uw_1/ with uw_2 until 2"), "\(revoke)")
                _ = try user(
                    stack, "share", "uw_1", "--with", "uw_2", "--prefix", "photos/uw_1/", "--until", "+1h")
                #expect(try user(stack, "unshare", "uw_1", "--with", "uw_2").contains("all the same") == false)
            }
        }

        @Test func `an end that is brought forward is told as an end is`() throws {
            try Stack.run("share-shortened", Self.options()) { stack in
                for (until, isShortened) in [("+1h", false), ("+2h", false), ("+1h", true)] {
                    let told = try user(
                        stack, "share", "ub_1", "--with", "ub_2", "--prefix", "photos/ub_1/", "--until", until)
                    let note = "no credentials vended to ub_2 from now on read that after 2"
                    #expect(told.contains(note) == isShortened, "\(until): \(told)")
                }
            }
        }

        @Test func `a line that cannot be read takes nothing from the user`() throws {
            try Stack.run("unreadable-share", Self.options()) { stack in
                try stack.redis?.command(
                    #"HSET cloakroom:user:{ur_1} shares "1 2 3\n99999999999 x photos/y/""#)
                let (own, reply) = try vended("ur_1", stack)
                #expect(reply.json["shared"] == nil)
                #expect(try own.ask("PUT", "\(try Self.base())/photos/ur_1/a.jpg").status == 200)
                let metrics = Metrics(try stack.ask(.metrics).text)
                #expect(metrics.sum("cloakroom_omitted_shares_total") == 2)
            }
        }

        @Test func `what STS refuses to share leaves the user's own`() throws {
            let sts = try HTTPServer { request in
                let isRefused = String(decoding: request.body, as: UTF8.self).contains("Shared1")
                let end = Date().addingTimeInterval(3600).formatted(.iso8601)
                let body =
                    isRefused
                    ? "<ErrorResponse><Error><Code>PackedPolicyTooLarge</Code></Error></ErrorResponse>"
                    : "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>"
                        + "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>\(end)</Expiration>"
                        + "</Credentials></AssumeRoleResult></AssumeRoleResponse>"
                let head = "HTTP/1.1 \(isRefused ? 400 : 200) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                return [.send(Array((head + body).utf8))]
            }
            let options = Stack.Options(nginx: true, s3: true) {
                $0["vending.sharing"] = true
                $0["aws.stsEndpoint"] = sts.url
            }
            try Stack.run("refused-share", options) { stack in
                _ = try user(stack, "share", "rs_1", "--with", "rs_2", "--prefix", "photos/rs_1/x/", "--until", "+1h")
                let before = sts.requests.count
                for _ in 1...3 {
                    let reply = try stack.askNginx(.vend(Tokens.token(user: "rs_2")))
                    #expect(reply.status == 200 && reply.json["shared"] == nil, "\(reply.told)")
                }
                #expect(sts.requests.count == before + 2, "with it and without it, and then from the cache")
                let lines = stack.logLines("a shared folder is left out")
                #expect(lines.map { $0["code"] as? String } == ["PackedPolicyTooLarge"])
                #expect(lines.map { $0["reason"] as? String } == ["refused"])
            }
        }

        @Test(arguments: [
            ["share", "u_1", "--with", "u_2", "--until", "+1h"],
            ["share", "u_1", "--with", "u_2", "--prefix", "photos/u_1/", "--until", "yesterday"],
            ["share", "u_1", "--with", "u/2", "--prefix", "photos/u_1/", "--until", "+1h"],
            ["share", "u_1", "--prefix", "photos/u_1/", "--until", "+1h"],
            ["share", "u_1", "--with", "u_2", "--prefix", "photos/u_1/*", "--until", "+1h"],
            ["unshare", "u_1"], ["shares"], ["disable", "-h"], ["revoke", "--he"],
        ])
        func `a command line that cannot be meant changes nothing`(words: [String]) throws {
            let folder = try RunFolder.make("share-usage")
            try TestSettings(folder: folder, upstream: "http://127.0.0.1:9").write(to: "\(folder)/s.json5")
            let command = try Command(["user"] + words + ["\(folder)/s.json5"])
            #expect(command.status == 2 && command.text.contains("see: cloakroom user"), "\(command.text)")
        }

        @Test func `what settings do not heed is not shared`() throws {
            let folder = try RunFolder.make("share-off")
            try TestSettings(folder: folder, upstream: "http://127.0.0.1:9").write(to: "\(folder)/s.json5")
            let command = try Command([
                "user", "share", "u_1", "--with", "u_2", "--prefix", "photos/u_1/", "--until", "+1h",
                "\(folder)/s.json5",
            ])
            #expect(command.status == 1 && command.text.contains("vending.sharing is false"), "\(command.text)")
        }
    }
}

extension EndToEnd.OnCeph {
    /// Ceph knows the time: credentials that are out stop reading when the share is over.
    @Test func `a shared folder closes at its end, with credentials that live on`() throws {
        let ceph = try EndToEnd.ceph()
        try Stack.run("ceph-share", ceph.options(nginx: true) { $0["vending.sharing"] = true }) { stack in
            let base = "\(ceph.url)/\(ceph.bucket)"
            let owner = try Vended(stack.askNginx(.vend(Tokens.token(user: "cs_1"))))
            #expect(try owner.ask("PUT", "\(base)/photos/cs_1/x/a.jpg").status == 200)
            let end = Date().addingTimeInterval(8)
            let command = try Command(
                [
                    "user", "share", "cs_1", "--with", "cs_2", "--prefix", "photos/cs_1/x/", "--until",
                    end.formatted(.iso8601), stack.settingsFile,
                ], environment: ceph.environment)
            #expect(command.status == 0, "\(command.text)")
            let friend = try Vended(stack.askNginx(.vend(Tokens.token(user: "cs_2"))))
            #expect(try friend.ask("GET", "\(base)/photos/cs_1/x/a.jpg").text == "bytes")
            #expect(try friend.ask("GET", "\(base)?list-type=2&prefix=photos%2Fcs_1%2Fx%2F").status == 200)
            #expect(try friend.ask("GET", "\(base)?list-type=2&prefix=photos%2Fcs_1%2F").status == 403)
            #expect(try friend.ask("PUT", "\(base)/photos/cs_1/x/b.jpg").status == 403)
            try wait(for: "the end of the share", within: .seconds(20)) {
                usleep(200_000)
                return try friend.ask("GET", "\(base)/photos/cs_1/x/a.jpg").status == 403
            }
            #expect(Date() >= end.addingTimeInterval(-1))
            #expect(try friend.ask("PUT", "\(base)/photos/cs_2/own.jpg").status == 200, "the own folder stays open")
            #expect(try stack.askNginx(.vend(Tokens.token(user: "cs_2"))).json["shared"] == nil)
        }
    }
}
