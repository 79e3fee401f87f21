import Foundation

// `conformance VERB`: one JSON object a line in, one a line out, until the input ends.

/// What can be asked, each in a file of its own.
let verbs: [String: Verb] = [
    "assume": assume,
    "copy": copy,
    "endpoint": endpoint,
    "json": json,
    "jwt": jwt,
    "policy": policy,
    "presign": presign,
    "secret": secret,
    "sig": sig,
    "sigv4": sigv4,
    "wire": wire,
]

guard CommandLine.arguments.count == 2 else {
    print("usage: conformance \(verbs.keys.sorted().joined(separator: "|"))")
    exit(2)
}
let verb = verbs[CommandLine.arguments[1]]
while let line = readLine() {
    print(answer(line, with: verb))
    fflush(nil)
}
