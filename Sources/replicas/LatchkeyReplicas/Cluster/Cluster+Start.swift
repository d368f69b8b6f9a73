internal import Dispatch
internal import Foundation
package import LatchkeyFrame
internal import LatchkeyMachine
package import LatchkeyPersistence
internal import LatchkeyReplication
package import LatchkeyStore
internal import LatchkeyStrategies

// The start of a replica, before it serves: it finds its etcd, its settings and its state.
//
// **Design.** All of it is on the main thread, which waits for each answer. No lock is held then.
// Each wait ends: calls of etcd have a timeout, and after each one the replica checks for a signal.

extension Cluster {
    /// Finds the etcd of the cluster, compares the settings with those of the cluster, and gives an
    /// empty folder the state of another replica.
    ///
    /// The data on the disk are opened before: they say which etcd is the right one.
    ///
    /// - Parameters:
    ///   - choices: The agreement that this service would propose to the etcd with a cluster ID.
    ///   - data: The data that are there; nil if the folder is empty.
    /// - Returns: The revision before the first one of the cluster.
    /// - Throws: If the settings differ, or the data are not of this cluster; and once a signal has
    ///   come that ends the service.
    package func prepare(
        _ choices: (_ etcd: UInt64) -> ClusterAgreement,
        _ data: Persistence?
    ) throws(StartFailure) -> Revision {
        var position: LogPosition?
        if let data { position = try storedPosition(data) }
        let etcd = if let known = position?.log?.etcd { known } else { try survey() }
        client.expect(cluster: etcd)
        let isEmpty =
            data.map { position == nil && $0.lastRevision == $0.startRevision }
            ?? !Persistence.hasData(folder)
        let own = choices(etcd)
        let agreement = try agree(on: own, etcd, data, isEmpty: isEmpty)
        self.agreement.write { $0 = agreement }
        if let reason = DivergenceNote(folder: folder).reason { throw refused(data, reason) }
        guard isEmpty else { return agreement.start }
        let note = LifeNote(folder: folder)
        if !Persistence.hasData(folder) {
            note.remove()
            if try seed(agreement.log ?? LogIdentity(etcd: etcd)) { return agreement.start }
        }
        if try canBeRestored(agreement) { try note.write() }
        return agreement.start
    }

    /// Whether the log can have been restored from a backup: it has entries, or another life.
    ///
    /// A log without entries is new, even if entries come before the replica serves.
    private func canBeRestored(_ agreement: ClusterAgreement) throws(StartFailure) -> Bool {
        let start = try ask { self.directory.logStart(completion: $0) }
        return start != nil || agreement.life ?? 1 > 1
    }

    /// Asks the members for their cluster ID, until most of them give the same one.
    ///
    /// A member that lost its disk and was started as a new cluster must not be taken for the
    /// cluster that has the log; it has no settings that would show the difference.
    private func survey() throws(StartFailure) -> UInt64 {
        let addresses = access.read { $0.servers.map(\.text) }
        return try awaitAnswer { answer in
            client.survey(key: directory.logKey) { answers in
                let majority = EtcdMajority(
                    addresses,
                    answers.map { $0.mapError { Unanswered($0.reason) } }
                )
                answer(majority.result)
            }
        }
    }

    /// Takes the settings that the cluster has, or gives it these.
    private func agree(
        on own: ClusterAgreement,
        _ etcd: UInt64,
        _ data: Persistence?,
        isEmpty: Bool
    ) throws(StartFailure) -> ClusterAgreement {
        while true {
            // A read first: a full etcd takes no transaction with a put.
            let found = try ask { self.directory.settings(completion: $0) }
            let common =
                if let found { found } else {
                    try ask { self.directory.agree(on: own.encoded, completion: $0) }
                }
            guard let agreement = ClusterAgreement(decoding: common) else {
                throw StartFailure(reason: "The settings of the cluster cannot be read.")
            }
            if let objection = agreement.objection(to: own) {
                throw StartFailure(reason: objection)
            }
            guard let former = agreement.log?.etcd, former != etcd else { return agreement }
            guard isEmpty else { throw refused(data, Self.restored(etcd, former)) }
            let adopted = agreement.adopted(by: etcd)
            let isChanged = try ask {
                self.directory.change(common, to: adopted.encoded, completion: $0)
            }
            guard isChanged else { continue }
            log.write(
                .warning,
                "etcd goes on from a backup",
                [
                    "etcd": etcd.hexadecimal, "former": former.hexadecimal,
                    "life": "\(adopted.life ?? 0)",
                    "advice": "if that was not wanted, end all replicas before they take changes",
                ]
            )
            return adopted
        }
    }

    private static func restored(_ etcd: UInt64, _ former: UInt64) -> String {
        "This etcd has the cluster ID \(etcd.hexadecimal), and its cluster was begun with "
            + "\(former.hexadecimal): it goes on from a backup. --data can be the only copy of "
            + "writes that were acknowledged since. docs/cluster.md says how to go on."
    }

    /// Removes the record of this replica, for a folder with which it cannot go on: the log need
    /// not be kept for it.
    ///
    /// If the folder is a copy, the record of its original stays.
    ///
    /// - Returns: The failure that ends the start.
    func refused(_ data: Persistence?, _ reason: String) -> StartFailure {
        let failure = StartFailure(reason: reason)
        guard let data else { return failure }
        let start = started.read { $0?.start } ?? (try? storedPosition(data))?.place ?? .start
        // After the removal no record is written.
        started.write { $0 = nil }
        queue.sync {}
        saying.wait()
        let answer = Self.wait { directory.records(completion: $0) }
        guard case .success(let records) = answer else { return failure }
        let isOriginal = copies.write { copies in
            _ = copies.hears(records[data.identity], process, from: start)
            return copies.isOriginal
        }
        if isOriginal { removeRecord(of: data.identity) }
        return failure
    }

    private func removeRecord(of identity: String) {
        _ = Self.wait { directory.remove(identity, completion: $0) }
    }

    /// Takes the state of any other replica that has one, and waits for one if it must.
    ///
    /// The log can have forgotten its start, however little has happened. If it has not, the
    /// replica executes it from there, without a state. No database is made before that is known,
    /// so that the next start looks for a state again.
    ///
    /// - Parameter log: The log that the state must belong to.
    /// - Returns: False if the log is executed from its start.
    /// - Throws: Once a signal has come that ends the service.
    private func seed(_ log: LogIdentity) throws(StartFailure) -> Bool {
        let identity = Persistence.Identity()
        let seed = ClusterSeed(settings: settings, isCancelled: { EndingSignals.isPending })
        // Each start has another identity, so no later start removes the record.
        var isHeld = false
        defer {
            state.seeds(nil)
            if isHeld { removeRecord(of: identity.text) }
        }
        // Each message once, however often it is tried.
        var told: Set<String> = []
        while true {
            state.seeds("It takes the state of another replica.")
            let records = try ask { self.directory.records(completion: $0) }
            let unfit: Set = ["diverged", "too-late"]
            // A serving replica can have got its first entry after it wrote its record.
            let peers = records.values.filter {
                ($0.place > 0 || $0.state == "serving")
                    && !$0.url.isEmpty && !unfit.contains($0.state)
            }
            var reason = "No other replica has said where it is (--cluster-url)."
            for peer in peers.sorted(by: { $0.place > $1.place }) {
                try endIfAsked()
                if told.insert(peer.url).inserted {
                    self.log.write(.info, "seeding", ["from": peer.url])
                }
                // At place 0, the peer's own record keeps the log.
                if peer.place > 0 {
                    holdLog(at: peer.place, for: identity)
                    isHeld = true
                }
                guard let failure = seed.take(from: peer.url, into: folder, as: identity, of: log)
                else {
                    isHeld = false
                    return true
                }
                reason = failure
                if told.insert(reason).inserted {
                    let level: Log.Level = peer.place > 0 ? .warning : .info
                    self.log.write(level, "not seeded", ["from": peer.url, "reason": reason])
                }
            }
            if try ask({ self.directory.hasStart(completion: $0) }) { return false }
            state.seeds(
                "The log has forgotten its start, and no replica gives its state. \(reason) If the "
                    + "disks of all replicas are lost, start a new cluster with another "
                    + "--cluster-name, restore a backup, and import it."
            )
            if told.insert("").inserted { self.log.write(.warning, "cluster", state.logFields) }
            try pause(seconds: 1)
        }
    }

    /// Has the others keep the log for this replica, from the place of the state that it takes.
    private func holdLog(at place: UInt64, for identity: Persistence.Identity) {
        let record = ClusterDirectory.Record(
            url: "",
            place: place,
            revision: 0,
            state: "seeding",
            time: StoreClock.system.now().milliseconds,
            format: settings.rules.rawValue
        )
        // If this fails, the replica learns later that it is too late.
        _ = Self.wait { directory.say(record, of: identity.text, completion: $0) }
    }

    /// Asks the directory until etcd answers.
    private func ask<Answer: Sendable>(
        _ question: (
            @escaping @Sendable (Result<Answer, ClusterDirectory.Failure>) -> Void
        ) -> Void
    ) throws(StartFailure) -> Answer {
        try awaitAnswer { answer in question { answer($0.mapError { Unanswered($0.reason) }) } }
    }

    /// Asks until there is an answer, and reports meanwhile why there is none.
    private func awaitAnswer<Answer: Sendable>(
        _ question: (@escaping @Sendable (Result<Answer, Unanswered>) -> Void) -> Void
    ) throws(StartFailure) -> Answer {
        // Each reason once: the addresses fail in turn, again and again.
        var told: Set<String> = []
        while true {
            switch Self.wait(question) {
            case .success(let answer): return answer
            case .failure(let failure):
                // The client's reason has the address, too.
                let reason = client.trouble ?? failure.reason
                if case .onlyStrangers(let sentence) = client.membership {
                    throw StartFailure(
                        reason: "\(sentence) etcd was restored or replaced: docs/cluster.md says "
                            + "how to go on."
                    )
                }
                state.enters(.connecting(reason))
                if told.insert(reason).inserted {
                    log.write(.warning, "etcd does not answer", ["reason": reason])
                }
            }
            try pause(seconds: 0.2)
        }
    }

    /// Waits for the answer to a question of etcd, which comes on another thread.
    static func wait<Answer: Sendable>(
        _ question: (@escaping @Sendable (Answer) -> Void) -> Void
    ) -> Answer {
        let (answer, isDone) = (Guarded<Answer?>(nil), DispatchSemaphore(value: 0))
        question { found in
            answer.write { $0 = found }
            isDone.signal()
        }
        isDone.wait()
        guard let answer = answer.read({ $0 }) else {
            preconditionFailure("A question is answered.")
        }
        return answer
    }

    func endIfAsked() throws(StartFailure) {
        guard !EndingSignals.isPending else {
            throw StartFailure(
                reason: "A signal ended the replica before it was level with the others.",
                isAsked: true
            )
        }
    }

    func pause(seconds: Double) throws(StartFailure) {
        try endIfAsked()
        Thread.sleep(forTimeInterval: seconds)
    }
}

/// Why there is no answer of etcd.
struct Unanswered: Error, Equatable {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
