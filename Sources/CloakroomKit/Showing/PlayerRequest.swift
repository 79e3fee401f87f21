import Foundation

/// Which bytes of a resource a player wants.
struct PlayerRequest: Sendable, Equatable {
    /// In bytes from 0.
    var offset: Int64
    /// `nil` for all from there on.
    var byteCount: Int64?

    /// Of the first piece: a player shows nothing before it, and often needs no more.
    static let firstPiece: Int64 = 64 << 10
    /// Each piece is twice as long as the one before it, up to this.
    static let longestPiece: Int64 = 2 << 20

    /// What is read one after the other; nothing for a request that is none, or begins behind the end.
    ///
    /// - Parameter total: bytes of the resource.
    func pieces(of total: Int64) -> some Sequence<Range<Int64>> {
        let isInside = offset >= 0 && offset < total && (byteCount ?? 1) > 0
        let end = isInside ? offset + min(byteCount ?? .max, total - offset) : 0
        return sequence(state: (start: isInside ? offset : 0, length: Self.firstPiece)) { state -> Range<Int64>? in
            guard state.start < end else { return nil }
            let piece = state.start..<state.start + min(state.length, end - state.start)
            state = (piece.upperBound, min(state.length * 2, Self.longestPiece))
            return piece
        }
    }
}

extension RangeReader {
    /// Reads what a player wants, piece by piece, until it is all there or the task is cancelled.
    func read(_ request: PlayerRequest, _ receive: @Sendable (Data) -> Void) async throws {
        for piece in request.pieces(of: try await info().byteCount) {
            try Task.checkCancellation()
            receive(try await read(piece))
        }
    }
}

extension ObjectInfo {
    /// How a player learns what the bytes are.
    enum MediaType: Sendable, Equatable {
        case mime(String)
        case fileExtension(String)
    }

    /// Of a photo, the format of the file that was backed up: its content type says nothing. `nil` when it is not known.
    var mediaType: MediaType? {
        if let format = metadata[OriginalFormat.field] { return .fileExtension(format) }
        guard let contentType, contentType != "application/octet-stream" else { return nil }
        return .mime(String(contentType.prefix { $0 != ";" }))
    }
}
