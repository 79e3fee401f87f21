import CloakroomLoad
import Testing

struct LoadScheduleTests {
    private func instants(_ schedule: LoadSchedule) -> [Double] {
        (0..<schedule.requests).map { Double(schedule.instant(of: $0).nanoseconds) / 1e9 }
    }

    @Test func `a steady rate has even distances`() {
        let schedule = LoadSchedule([.steady(100, seconds: 2)])
        #expect(schedule.requests == 200)
        for (number, instant) in instants(schedule).enumerated() {
            #expect(abs(instant - Double(number) / 100) < 1e-8)
        }
    }

    @Test func `a rate that is no whole number loses no request`() {
        let schedule = LoadSchedule([.steady(0.3, seconds: 10), .steady(0.7, seconds: 10)])
        #expect(schedule.requests == 10)
        #expect(schedule.instant(of: 9).nanoseconds < 20_000_000_000)
        #expect(schedule.instant(of: 2).phase == 0)
        #expect(schedule.instant(of: 3).phase == 1)
    }

    @Test(arguments: [(0.0, 100.0), (100, 0), (10, 90), (90, 10)])
    func `a ramp sends as many in each second as its rate then is`(rates: (Double, Double)) {
        let schedule = LoadSchedule([.init(from: rates.0, to: rates.1, seconds: 10, isMeasured: true)])
        #expect(schedule.requests == Int((rates.0 + rates.1) * 5))
        let all = instants(schedule)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0 < $1 })
        for second in 0..<10 {
            let inIt = all.count { (Double(second)..<Double(second + 1)).contains($0) }
            let rate = rates.0 + (rates.1 - rates.0) * (Double(second) + 0.5) / 10
            #expect(abs(Double(inIt) - rate) <= 1)
        }
    }

    @Test func `steps have a ramp before each, and a warm-up before the first`() {
        let schedule = LoadSchedule.steps([10, 20], seconds: 5, warmUp: 2, ramp: 1)
        #expect(
            schedule.phases == [
                .init(from: 0, to: 10, seconds: 1, isMeasured: false), .steady(10, seconds: 2, isMeasured: false),
                .steady(10, seconds: 5), .init(from: 10, to: 20, seconds: 1, isMeasured: false),
                .steady(20, seconds: 5),
            ])
        #expect(schedule.requests == 5 + 20 + 50 + 15 + 100)
        #expect(schedule.seconds == 14)
        let all = instants(schedule)
        #expect(all.count { $0 >= 9 } == 100)
        #expect(schedule.start(ofPhase: 4) == 9)
    }

    @Test func `each request knows its phase`() {
        let schedule = LoadSchedule.steps([10, 20], seconds: 1)
        #expect(
            (0..<30).map { schedule.instant(of: $0).phase } == Array(repeating: 0, count: 10)
                + Array(repeating: 1, count: 20))
    }
}
