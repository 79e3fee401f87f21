package import CloakroomJSON

extension LoadReport {
    /// For programs. Latencies are in milliseconds, times in seconds, memory in bytes.
    package var json: JSON {
        [
            "target": .string(run.target), "protocol": .string(run.speaks), "mix": .string(run.mix),
            "tokens": .number(Double(run.tokens)), "started": .string(run.started),
            "result": .string(result.rawValue), "valid": .bool(doubts.isEmpty && !wasStopped),
            "doubts": .array(doubts.map { .string($0) }), "stopped": .bool(wasStopped),
            "steps": .array(steps.map(Self.json)),
            "bars": .array(
                verdicts.map { verdict in
                    [
                        "bar": .string(verdict.bar.text), "rate": .number(verdict.rate),
                        "value": .string(verdict.bar.words(verdict.value)), "broken": .bool(verdict.isBroken),
                    ]
                }),
            "knee": knee.map { $0.json } ?? .null,
            "generator": [
                "seconds": Self.rounded(generator.seconds), "cpuSeconds": Self.rounded(generator.cpuSeconds),
                "requests": .number(Double(generator.requests)),
                "userMicrosecondsPerRequest": Self.rounded(generator.userMicrosecondsPerRequest),
                "cpuMicrosecondsPerRequest": Self.rounded(generator.cpuMicrosecondsPerRequest),
            ],
            "workers": .array(workers.map(Self.json)),
            "overTime": .array(moments.map(Self.json)),
        ]
    }

    private static func json(_ step: LoadStep) -> JSON {
        [
            "rate": .number(step.rate), "seconds": rounded(step.seconds), "throughput": rounded(step.throughput),
            "mostOpen": .number(Double(step.mostOpen)), "doubt": step.doubt.map { .string($0) } ?? .null,
            "all": json(step.all),
            "routes": .object(.init(members: step.parts.map { .init(name: $0.route.rawValue, value: json($0.group)) })),
            "lateness": json(step.lateness), "waits": json(step.waits),
        ]
    }

    private static func json(_ group: LoadTally.Group) -> JSON {
        [
            "requests": .number(Double(group.due)), "errors": .number(Double(group.errors)),
            "statuses": .object(
                .init(
                    members: group.statuses.sorted { $0.key < $1.key }.map {
                        .init(name: String($0.key), value: .number(Double($0.value)))
                    })),
            "failures": .object(
                .init(
                    members: LoadFailure.allCases.compactMap { failure in
                        group.failures[failure].map { .init(name: failure.rawValue, value: .number(Double($0))) }
                    })),
            "latency": json(group.latency),
        ]
    }

    private static func json(_ histogram: LatencyHistogram) -> JSON {
        var members = [50, 75, 90, 95, 99, 99.9, 99.99].map { percent in
            JSON.Object.Member(name: "p\(percent.short)", value: milliseconds(histogram.percentile(percent)))
        }
        members.append(.init(name: "mean", value: milliseconds(histogram.mean)))
        members.append(.init(name: "min", value: milliseconds(histogram.minimum)))
        members.append(.init(name: "max", value: milliseconds(histogram.maximum)))
        return .object(.init(members: members))
    }

    private static func json(_ worker: WorkerUsage) -> JSON {
        [
            "process": .number(Double(worker.process)), "meanCPU": rounded(worker.meanCPU),
            "mostBytes": .number(Double(worker.mostBytes)),
            "samples": .array(
                worker.samples.map { sample in
                    [
                        "second": rounded(sample.second), "cpu": rounded(sample.cpu),
                        "residentBytes": .number(Double(sample.residentBytes)),
                    ]
                }),
        ]
    }

    private static func json(_ moment: Moment) -> JSON {
        [
            "second": rounded(moment.second), "width": rounded(moment.width),
            "due": .number(Double(moment.group.due)), "ended": .number(Double(moment.ended)),
            "errors": .number(Double(moment.group.errors)),
            "p50": milliseconds(moment.group.latency.percentile(50)),
            "p99": milliseconds(moment.group.latency.percentile(99)),
            "max": milliseconds(moment.group.latency.maximum),
        ]
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> JSON { rounded(Double(nanoseconds) / 1e6) }

    private static func rounded(_ value: Double) -> JSON { .number((value * 1e4).rounded() / 1e4) }
}
