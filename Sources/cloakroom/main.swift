import FastCGI
import HTTPValues
import Loop
let status = LoopActor.run {
    do {
        let (socket, publish) = try ListenAddress("unix:/tmp/h/t.sock")!.listen()
        let listener = try FastCGIListener(socket: socket, limits: .init(bodyBytes: 65536), fields: FieldTable(["Authorization", "Content-Type", "X-Convos-AuthToken"]), tooLarge: Response(status: 413)) { request in
            Response(status: 200, fields: ["Content-Type": "application/json"], body: Array("{\"path\":\"\(request.path)\",\"n\":\(request.body.count),\"pad\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}".utf8))
        }
        try publish()
        try await LoopActor.sleep(for: .seconds(100000))
        _ = listener
    } catch { print(error); return 1 }
    return 0
}
print(status)
