import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct BackgroundScheduleTests {
    @Test func `work in the background is that of the user who is signed in when it begins`() async throws {
        let folder = try TemporaryFolder()
        let clock = FakeRuntime()
        let log = Log<String>()
        let signedIn = Locked<WorkSchedule?>(nil)
        let schedule = BackgroundSchedule { signedIn.withLock { $0 } }
        await schedule.runDue()
        #expect(await schedule.nextDate() == nil)
        for user in ["u_1", "u_2"] {
            let own = try WorkSchedule(
                at: folder.url.appendingPathComponent("\(user).sqlite"), owner: .test, runtime: clock.runtime)
            await own.add(ScheduledWork("daily", every: .seconds(86_400)) { log.append(user) })
            signedIn.withLock { $0 = own }
            await schedule.runDue()
            #expect(await schedule.nextDate() == clock.wallTime.addingTimeInterval(86_400))
            // The user signs out.
            await own.close()
        }
        #expect(log.all == ["u_1", "u_2"])
    }
}
