internal import LatchkeyFrame
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

// The rules of the log are raised when all replicas of the last hour know later ones.
//
// **Design.** First the agreement's format is raised, so that no replica joins that does not know
// them; then an entry raises the rules for all at one place of the log. Each replica does both by
// itself, and repeats it until its own position has the rules; a repetition changes nothing. The
// time of the raise depends on clocks. Its effect does not: all replicas find the entry at one
// place.

extension Cluster {
    /// Begins to raise the rules if all replicas know later ones.
    func raiseRules(of replica: Replica, _ records: [String: ClusterDirectory.Record]) {
        let known = ClusterDirectory.rules(
            of: records,
            heardWithin: Int64(settings.absence / .milliseconds(1)),
            at: StoreClock.system.now().milliseconds
        )
        let rules = min(known, settings.rules)
        guard replica.phase == .serving, replica.position.rules < rules else { return }
        directory.settings { [self] result in
            guard case .success(let common?) = result,
                let agreement = ClusterAgreement(decoding: common)
            else { return }
            guard !agreement.needs(rules) else { return raise(replica, to: rules) }
            var raised = agreement.raised(to: rules)
            if let log = replica.position.log { raised = raised.completed(by: log) }
            directory.change(common, to: raised.encoded) { [self] result in
                if case .success(true) = result { raise(replica, to: rules) }
            }
        }
    }

    /// Completes the agreement with what this replica knows of the log: above all the revision of
    /// its first entry.
    func completeAgreement(_ replica: Replica) {
        guard replica.phase == .serving, let log = replica.position.log,
            let known = agreement.read({ $0 }),
            known.completed(by: log) != known || !known.needs(replica.position.rules)
        else { return }
        directory.settings { [self] result in
            guard case .success(let common?) = result,
                let agreement = ClusterAgreement(decoding: common)
            else { return }
            self.agreement.write { $0 = agreement }
            let completed = agreement.completed(by: log)
            guard completed != agreement else { return }
            directory.change(common, to: completed.encoded) { [self] result in
                if case .success(true) = result { self.agreement.write { $0 = completed } }
            }
        }
    }

    private func raise(_ replica: Replica, to rules: RuleLevel) {
        log.write(.info, "raising the rules", ["to": "\(rules.rawValue)"])
        replica.raise(to: rules)
    }
}
