/// The verbs of tokens, users and bodies, for the table in `main.swift`.
let identityVerbs: [String: Verb] = ["json": json, "jwt": jwt, "policy": policy, "secret": secret, "sig": sig]
