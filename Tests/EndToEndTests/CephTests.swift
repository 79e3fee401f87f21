import Foundation
import Testing

extension EndToEnd {
    /// The second store: a worker whose STS and S3 are Ceph's RADOS Gateway.
    @Suite struct OnCeph {
        @Test func `vends credentials of every scope, which open the own folder alone`() throws {
            let ceph = try EndToEnd.ceph()
            try Stack.run("ceph-vending", ceph.options(nginx: true)) { stack in
                #expect(try Command(["check", stack.settingsFile], environment: ceph.environment).status == 0)
                let token = Tokens.token(user: "v_1")
                let own = "\(ceph.url)/\(ceph.bucket)/photos/v_1/a.jpg"
                let foreign = "\(ceph.url)/\(ceph.bucket)/photos/v_10/a.jpg"
                let full = try Vended(try stack.askNginx(.vend(token)))
                #expect(try full.ask("PUT", own).status == 200)
                #expect(try full.ask("GET", own).text == "bytes")
                #expect(try full.ask("PUT", foreign).status == 403)
                let list = "\(ceph.url)/\(ceph.bucket)?list-type=2&prefix=photos%2F"
                #expect(try full.ask("GET", list + "v_1%2F").status == 200)
                #expect(try full.ask("GET", list).status == 403)
                let read = try Vended(try stack.askNginx(.vend(token, scope: "read")))
                #expect(try read.ask("GET", own).status == 200)
                #expect(try read.ask("PUT", own).status == 403)
                let upload = try Vended(try stack.askNginx(.vend(token, scope: "upload")))
                #expect(try upload.ask("PUT", own).status == 200)
                #expect(try upload.ask("GET", own).status == 403)
                #expect(try full.ask("DELETE", own).status == 204)
            }
        }

        @Test func `an upload URL takes no field that was not signed`() throws {
            let ceph = try EndToEnd.ceph()
            try Stack.run("ceph-unsigned", ceph.options(nginx: true)) { stack in
                try UnsignedFields.check(stack, bucket: ceph.bucket) { key in
                    let stored = try ceph.ask("PUT", "/\(key)", body: "bytes")
                    #expect(stored.status == 200, "\(stored.told)")
                }
            }
        }

        @Test func `renewal finds old and new keys at each place that the settings name`() throws {
            let ceph = try EndToEnd.ceph()
            try Stack.run("ceph-places", ceph.options(nginx: true, RenewalPlaces.change)) { stack in
                try RenewalPlaces.check(stack) { key in
                    let stored = try ceph.ask("PUT", "/\(key)", body: "bytes")
                    #expect(stored.status == 200, "\(stored.told)")
                }
            }
        }

        @Test func `a multipart upload is complete however often that is said`() throws {
            let ceph = try EndToEnd.ceph()
            let options = ceph.options(nginx: true) {
                $0["uploads.idKeys"] = [["env": "TEST_TOKEN_SECRET"]]
            }
            try Stack.run("ceph-multipart", options) { stack in
                let token = Tokens.fresh()
                let begun = try stack.askNginx(
                    .post("/v2/uploads", token: token, json: #"{"contentType":"video/mp4","contentLength":3}"#))
                #expect(begun.status == 200, "\(begun.told)")
                let id = try #require(begun["uploadId"])
                let parts = try stack.askNginx(.get("/v2/uploads/\(id)/parts?numbers=1", token: token))
                let url = try #require(parts.text.firstMatch(of: /"uploadUrl":"([^"]+)"/)).1
                let target = String(url).replacing("\\/", with: "/")
                #expect(try ceph.ask("PUT", "/photos/u_other/b.dat", body: "abc").status == 200)
                let copy = try Curl.run(
                    "PUT", target, fields: ["x-amz-copy-source": "/\(ceph.bucket)/photos/u_other/b.dat"], body: "")
                #expect(copy.status == 403, "\(copy.told)")
                let put = try Curl.run("PUT", target, body: "abc")
                #expect(put.status == 200, "\(put.told)")
                let tag = try #require(put.fields["etag"]).filter { $0 != "\"" }
                for body in ["{}", "{}", #"{"etags":["\#(tag)"]}"#] {
                    let done = try stack.askNginx(.post("/v2/uploads/\(id)/complete", token: token, json: body))
                    #expect(done.status == 200, "\(done.told)")
                }
                let other = String(tag.reversed())
                let wrong = try stack.askNginx(
                    .post("/v2/uploads/\(id)/complete", token: token, json: #"{"etags":["\#(other)"]}"#))
                #expect(wrong.status == 409, "\(wrong.told)")
            }
        }
    }
}
