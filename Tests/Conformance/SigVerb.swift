/// A bare signature over a digest.
let sig: Verb = { _ in
    throw Unsupported(why: "only HS256 so far, and that signs messages, not digests")
}
