import CloakroomMessages

/// What must hold after each step.
extension Fleet {
    /// Messages that a device has ended.
    mutating func ended(_ messages: [Int], _ device: Int) {
        for id in messages {
            ledger.purges += 1
            let earliest = ledger.earliestEnd(of: id, on: devices[device], hasRelay: hasRelay)
            ledger.entries[id].arrivals[device]?.endedAt = truth
            guard let earliest, earliest <= truth + 1000 else {
                measures.purgedEarly += 1
                let early = earliest.map { "\(($0 - truth) / 1000) s" } ?? "for ever"
                wrong = wrong ?? "message \(id) is purged too early on device \(device): \(early)"
                continue
            }
        }
    }

    /// Looks for what a device should have purged, or hidden.
    mutating func check(_ index: Int) {
        let device = devices[index]
        for (id, message) in device.held {
            guard let limit = ledger.limit(of: id, on: device),
                let arrival = ledger.entries[id].arrivals[index]
            else { continue }
            let base = message.inputs.base
            let end = (base.clock == .relay ? ledger.entries[id].writtenAt : arrival.at) + limit
            let isCertain =
                switch base.clock {
                case .relay, .server: device.clock.isServerTimeKnown
                case .device(let run): run == device.clock.run
                }
            if isCertain { measures.latest = max(measures.latest, truth - end) }
            if isCertain, end + 60_000 < truth {
                wrong = wrong ?? "message \(id) is purged too late on device \(index)"
            }
            // The wall clock counts while the device was off, if it was not set.
            let isHidden = device.clock.plausible.isDue(message.term.local, base: base)
            if base.clock.isDevice, arrival.settings == device.settings, end + 2000 < truth, !isHidden {
                wrong = wrong ?? "message \(id) is shown too long on device \(index)"
            }
        }
    }

    // MARK: In the end

    /// Lets all devices meet and their clocks be right; then all must be the same everywhere.
    mutating func heal() {
        for index in devices.indices {
            devices[index].skew = 0
            devices[index].settings += 1
            devices[index].hearsServer = true
            power(index, true)
            tick(index)
        }
        for index in devices.indices { perform(.network(device: index, isOn: true)) }
        exchange()
        // Cuts by a clock that was a day fast are accepted a day later.
        pass(49 * 3_600_000)
        exchange()
        compareStates()
        // Longer than the longest policy of a schedule.
        pass(8 * 86_400_000)
        compareEnded()
    }

    private mutating func exchange() {
        for index in devices.indices { broadcast(index) }
        for index in devices.indices { perform(.deliverAll(device: index)) }
    }

    mutating func compareStates() {
        for device in devices where device.state.registers != devices[0].state.registers {
            measures.isDivergent = true
            wrong = wrong ?? "device \(device.index) has other registers than device 0"
        }
        guard hasRelay else { return }
        for id in ledger.entries.indices {
            let holders = devices.filter { $0.held[id] != nil }
            let whole = holders.filter { $0.hasAllQuoted(by: id) }
            let deadlines = Set(whole.compactMap { $0.held[id].map(\.term.shared) })
            // Who had what it quotes in memory, and has it no more, knows its end by the stamp alone: no earlier one.
            let isEarly = holders.contains { holder in
                let deadline = holder.held[id]?.term.shared ?? .max
                return deadlines.contains { deadline < $0 ?? .max }
            }
            if deadlines.count > 1 || isEarly {
                measures.isDivergent = true
                wrong = wrong ?? "message \(id) ends at different times"
            }
        }
    }

    private mutating func compareEnded() {
        for (id, entry) in ledger.entries.enumerated() {
            for device in devices where device.limits.minimumForPeers == nil {
                let isLimited = entry.stamp.afterSent != nil && entry.stamp != .noStorage
                guard isLimited else { continue }
                let isOld = entry.writtenAt + Milliseconds(MessageRetentionPolicy.longest) <= truth
                if device.held[id] != nil {
                    measures.missed += 1
                    wrong = wrong ?? "message \(id) is still on device \(device.index)"
                } else if device.tombstones[id] == nil, !(isOld && hasRelay) {
                    wrong = wrong ?? "message \(id) has no tombstone on device \(device.index)"
                }
            }
        }
    }
}
