internal import Glibc
internal import LatchkeySync
internal import Synchronization

/// The revisions of a store: one for each commit, without a gap.
///
/// **Design.** The tables are guarded one by one, so the number that belongs to all of them is an
/// atomic. A revision is taken inside the guarded section of the commit that it numbers: a
/// caller that holds all tables sees no revision that is taken and not yet visible.
///
/// **Order of commits.** A client that was shown a revision sees all commits up to it, on every
/// property. Where readers wait for the writer of a stripe, that follows: a revision is taken while
/// readers of its stripe are kept out. Where they do not wait
/// (``StrategyTraits/readsDuringWrites``), a later revision of another stripe could be visible
/// before an earlier one. There, `publication` is held from taking a revision to ``published()``,
/// so that commits become visible one after the other, in the order of their revisions, and `last`
/// is the revision of the last visible one. A commit takes its revision last, so the lock is held
/// for the exchange of a pointer, not for the copy of a table. A commit over several tables
/// exchanges a pointer for each: a reader that finds the first of them waits for the last
/// (``waitUntilPublished(_:)``).
///
/// All stripes use the same way at a time, or two commits would get one revision:
/// ``orderPublication(_:)``. So writers of a lock publish in order, too, while another stripe has
/// readers beside its writer.
struct RevisionSequence: ~Copyable, Sendable {
    private let lastRevision: Atomic<Revision>
    /// Whether commits become visible one after the other.
    ///
    /// Relaxed: it is written while all tables are held, and read inside one of them.
    private let ordersPublication: Atomic<Bool>
    private let publication = AdaptiveLock()
    /// The thread that holds `publication`, or 0.
    ///
    /// Relaxed: a thread only asks whether it holds the lock, and only the holder writes its own
    /// identifier.
    private let publisher = Atomic<UInt>(0)
    private let moves = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - start: The revision before the first commit.
    ///   - ordersPublication: Whether commits become visible one after the other.
    init(after start: Revision, ordersPublication: Bool) {
        lastRevision = Atomic(start)
        self.ordersPublication = Atomic(ordersPublication)
    }

    /// Lets commits become visible one after the other, or not.
    ///
    /// The calling thread holds all tables: no revision is taken that is not yet visible.
    func orderPublication(_ orders: Bool) {
        ordersPublication.store(orders, ordering: .relaxed)
    }

    /// The revision of the latest commit, or the one before the first commit.
    ///
    /// Acquiring: pairs with the releasing stores of ``next()`` and ``published()``, so that a
    /// reader of a revision finds its stripe taken, or its commit visible.
    var last: Revision { lastRevision.load(ordering: .acquiring) }

    /// Takes the next revision.
    ///
    /// Called only inside the guarded section, at most once in each, and after everything that
    /// takes time.
    func next() -> Revision {
        guard ordersPublication.load(ordering: .relaxed) else {
            return lastRevision.add(1, ordering: .acquiringAndReleasing).newValue
        }
        publication.lock()
        publisher.store(UInt(pthread_self()), ordering: .relaxed)
        return lastRevision.load(ordering: .relaxed) + 1
    }

    /// Ends the publication of the calling thread's commit, which readers see by now.
    ///
    /// Does nothing if the thread has taken no revision.
    func published() {
        let owner = publisher.load(ordering: .relaxed)
        guard owner != 0, owner == UInt(pthread_self()) else {
            return
        }
        publisher.store(0, ordering: .relaxed)
        lastRevision.store(lastRevision.load(ordering: .relaxed) + 1, ordering: .releasing)
        publication.unlock()
    }

    /// Goes back to this revision, so that later ones are taken again, or forward to it.
    ///
    /// The calling thread holds all tables: no revision is taken meanwhile.
    func move(to revision: Revision) {
        moves.add(1, ordering: .releasing)
        lastRevision.store(revision, ordering: .releasing)
    }

    /// How often ``move(to:)`` was called: also where the revision stayed the same.
    var moveCount: UInt64 { moves.load(ordering: .acquiring) }

    /// Waits until readers see all that the commit of this revision changed.
    ///
    /// Called for a revision that is taken, on another thread than that of its commit, which holds
    /// `publication` until then and waits for no other thread meanwhile.
    func waitUntilPublished(_ revision: Revision) {
        if revision > last {
            publication.lock()
            publication.unlock()
        }
    }
}

extension Revision {
    /// The revision before the first commit of a store that begins empty at this time: 2²⁰ for each
    /// second since the start of 1970.
    ///
    /// So it is above all revisions of an earlier store that made fewer than 2²⁰ commits a second,
    /// unless the calendar's clock was set back in between. Below 2⁵³ until the year 2242, so exact
    /// in JSON.
    package static func start(at time: Timestamp) -> Revision {
        (Revision(Swift.max(0, time.milliseconds)) << 20) / 1000
    }

    /// The revision after which a store goes on that begins at this time with the state of another
    /// one at a revision, such as a promoted follower, or a restored backup.
    ///
    /// It is at least 2³² above that revision, since the other store can have made commits that did
    /// not come here, and at least ``start(at:)`` of the time. Two stores that begin with the same
    /// state must not give one revision to different commits. So for two times that are between 1
    /// and 4095 seconds apart, the results are at least 2²⁰ apart, the revisions of a second:
    ///
    /// - While the clock is not below the revision, a later time gives a later one. This holds for
    ///   any two times.
    /// - Otherwise the clock's place in a span of 2³² (4096 seconds) is added. Then times that are
    ///   a multiple of 4096 seconds apart give the same result. A longer span would take a store
    ///   that is restored again and again far ahead of the clock, since each restore adds a part of
    ///   it.
    ///
    /// The result is at most 2³³ + 2²⁰ above the later one of the revision and the clock.
    ///
    /// - Returns: nil if the revisions are used up (``InputCheck/revisionMax``).
    package static func laterLife(of revision: Revision, at now: Timestamp) -> Revision? {
        guard revision <= InputCheck.revisionMax else { return nil }
        let (span, second) = (1 << 32 as Revision, 1 << 20 as Revision)
        let clock = start(at: now)
        // The first case is a second above all results of the other one.
        let later =
            revision <= clock ? clock + 2 * span + second : revision + span + clock % span
        return InputCheck.revision(later)
    }
}
