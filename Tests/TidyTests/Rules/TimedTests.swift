/// Tests that use time, each with how many of its lines do, by why they may.
///
/// A number only goes down, and a file that uses no time any more leaves the list.
let timedTests: [String: Int] = [
    // The one wait that the others use, and what has no event for it: other processes, the C side.
    "Tests/LatchkeyHTTPTests/ResponseStreamTests.swift": 1,
    "Tests/LatchkeyTestSupport/Patience.swift": 5,
    // Planted faults, which are slow or look now and then.
    "Tests/LatchkeyTestSupport/KnownBadLocks.swift": 1,
    "Tests/LatchkeyTestSupport/LateReader.swift": 1,
    // At least as long as it was told to wait: true on any machine.
    "Tests/LatchkeyComparisonTests/MachineTests.swift": 1,
    "Tests/LatchkeyComparisonTests/OpenLoopTests.swift": 1,
    "Tests/LatchkeyComparisonTests/WarmUpTests.swift": 2,
    "Tests/LatchkeyContentionTests/HolderTests.swift": 2,
    "Tests/LatchkeyContentionTests/ResetTests.swift": 1,
    "Tests/LatchkeyContentionTests/WaitingTests.swift": 3,
    "Tests/LatchkeyMachineTests/ProcessReadingTests.swift": 1,
    "Tests/LatchkeySyncTests/RawLockTests.swift": 3,
    // A clock that runs, where what is tested must not depend on it.
    "Tests/LatchkeyReplicationTests/ReplicaCluster.swift": 1,
    // The service on loopback, and processes of the program.
    "Tests/LatchkeyWireTests/HistoryTests.swift": 2,
    "Tests/LatchkeyWireTests/ProfileTests.swift": 2,
    "Tests/process/LockCommandTests.swift": 1,
    // Campaigns and checks from outside: how long their load goes on, figures, and the one wait of
    // scripts/process.py.
    "Tests/clients/recipe_checks.py": 3,
    "Tests/clients/recipes.py": 1,
    "Tests/cluster/clients.py": 3,
    "Tests/cluster/counting.py": 2,
    "Tests/cluster/faults.py": 7,
    "Tests/cluster/run.py": 5,
    "Tests/contract/tls.py": 1,
    "Tests/durability/errors.py": 7,
    "Tests/durability/kill.py": 1,
    "Tests/durability/load.py": 2,
    "Tests/durability/places.py": 5,
    "Tests/durability/power.py": 6,
    "Tests/durability/readers.py": 1,
    "Tests/durability/run.py": 2,
    "Tests/hostile/beside.py": 2,
    "Tests/hostile/clients.py": 2,
    "Tests/hostile/crowds.py": 2,
    "Tests/hostile/drain.py": 2,
    "Tests/hostile/log.py": 2,
    "Tests/hostile/newcomers.py": 2,
    "Tests/hostile/run.py": 2,
    "Tests/hostile/work.py": 2,
    "Tests/install/empty.py": 6,
    "Tests/install/run.py": 2,
    "Tests/install/shells.py": 2,
    "Tests/smoke/run.py": 2,
    "Tests/upgrade/run.py": 3,
    // The same wait in Node.
    "Tests/clients/typescript_support.ts": 5,
    // The C wrapper: until the library waits, which nothing tells, and deadlines of connections.
    "Tests/c/body_test.c": 10,
    "Tests/c/fault_test.c": 2,
    "Tests/c/gone_test.c": 1,
    "Tests/c/head_test.c": 1,
    "Tests/c/http_test.c": 8,
    "Tests/c/load/load_test.c": 1,
    "Tests/c/pieces_test.c": 1,
    "Tests/c/producer.c": 2,
    "Tests/c/steps.c": 1,
    "Tests/c/steps_test.c": 2,
    "Tests/c/stream_end_test.c": 5,
    "Tests/c/stream_test.c": 7,
    "Tests/c/subject.c": 3,
    "Tests/c/subject.h": 2,
    // The clock that a program sees, moved.
    "Tests/durability/powerloss.c": 5,
    // A whole run that hangs.
    "Tests/c/run.sh": 5,
    "Tests/model/run.sh": 1,
]
