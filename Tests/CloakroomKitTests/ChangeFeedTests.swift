import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ChangeFeedTests {
    @Test func `changes before they are read are one, and a reader gets none from before`() async {
        var feed: ChangeFeed? = ChangeFeed()
        feed?.send()
        let streams = [1, 3].map { count in
            let changes = feed?.changes()
            for _ in 0..<count { feed?.send() }
            return changes
        }
        feed = nil
        for stream in streams {
            var count = 0
            if let stream { for await _ in stream { count += 1 } }
            #expect(count == 1)
        }
    }

    @Test func `a reader is let go when its task is cancelled, or it was never read`() async {
        let feed = ChangeFeed()
        do { _ = feed.changes() }
        #expect(feed.readerCount == 0)
        let changes = feed.changes()
        let reading = Task { for await _ in changes {} }
        #expect(feed.readerCount == 1)
        reading.cancel()
        await reading.value
        #expect(feed.readerCount == 0)
    }
}
