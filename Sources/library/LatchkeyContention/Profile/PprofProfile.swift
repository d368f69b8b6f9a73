import Foundation
internal import LatchkeyProtobuf
import LatchkeySync

/// A profile in the format of pprof (`profile.proto` of github.com/google/pprof).
///
/// A sample's stack is that of the holder: its site, as a function of the site's name, then the
/// functions that called it. The labels are the lock, the strategy, the waiter's mode and the
/// waiter's place.
struct PprofProfile {
    /// The numbers of the fields.
    private enum Field {
        static let sampleType = 1
        static let sample = 2
        static let mapping = 3
        static let location = 4
        static let function = 5
        static let string = 6
        static let time = 9
        static let duration = 10
        static let periodType = 11
        static let period = 12
        static let comment = 13
    }

    /// A location of pprof.
    private enum Location: Hashable {
        case site(file: String, line: UInt32)
        case address(UInt64)
        case unknown
    }

    private struct Function: Hashable {
        var name: String
        var system: String
        var file: String
    }

    private let symbols: Symbols
    private var strings = Numbering<String>(first: 0)
    private var functions = Numbering<Function>(first: 1)
    private var locations = Numbering<Location>(first: 1)
    private var mappings = Numbering<Symbols.Mapping>(first: 1)
    private var message = ProtobufWriter()

    private init(_ symbols: Symbols) {
        self.symbols = symbols
        // Number 0 is the empty string.
        _ = strings[""]
    }

    static func bytes(_ reading: ProfileReading, _ symbols: Symbols) -> [UInt8] {
        var profile = PprofProfile(symbols)
        profile.add(reading)
        return profile.message.bytes
    }

    private mutating func add(_ reading: ProfileReading) {
        addType(Field.sampleType, "contentions", "count")
        addType(Field.sampleType, "delay", "nanoseconds")
        for sample in reading.samples {
            add(sample)
        }
        addMappings()
        addLocations()
        addFunctions()
        message.add(Field.time, Int64(reading.started.timeIntervalSince1970 * 1e9))
        message.add(Field.duration, reading.nanoseconds)
        addType(Field.periodType, "contentions", "count")
        message.add(Field.period, reading.interval)
        if reading.lostCount > 0 {
            let comment = "\(reading.lostCount) contentions were not recorded: no room."
            message.add(Field.comment, packed: [strings[comment]])
        }
        // Last, because everything else adds to it.
        for string in strings.values {
            message.add(Field.string, element: Array(string.utf8))
        }
    }

    private mutating func addType(_ field: Int, _ type: String, _ unit: String) {
        let (type, unit) = (strings[type], strings[unit])
        message.add(field) {
            $0.add(1, type)
            $0.add(2, unit)
        }
    }

    private mutating func add(_ sample: ProfileSample) {
        let stack = self.stack(sample.holder).map { locations[$0] }
        var labels = [
            ("strategy", sample.lock.strategy), ("mode", sample.mode.rawValue),
            ("waiter", sample.waiter.text(symbols)),
        ]
        if let name = sample.lock.name {
            labels.append(("lock", name))
        }
        if sample.waiter.site.isKnown, let function = sample.waiter.ownFunction(symbols) {
            labels.append(("waiter_function", function))
        }
        let numbers = labels.map { (strings[$0.0], strings[$0.1]) }
        message.add(Field.sample) { message in
            message.add(1, packed: stack)
            message.add(2, packed: [sample.count, sample.nanoseconds])
            for (key, value) in numbers {
                message.add(3) {
                    $0.add(1, key)
                    $0.add(2, value)
                }
            }
        }
    }

    private func stack(_ place: ProfileSample.Place) -> [Location] {
        var stack = place.relevant(symbols).map(Location.address)
        if place.site.isKnown {
            stack.insert(.site(file: place.site.fileID, line: place.site.line), at: 0)
        }
        return stack.isEmpty ? [.unknown] : stack
    }

    private mutating func addMappings() {
        // In order of their addresses, since pprof takes the first one for the program.
        let used = locations.values.compactMap { location -> Symbols.Mapping? in
            if case .address(let address) = location { symbols.mapping(address) } else { nil }
        }
        let sorted = Set(used).sorted { $0.start < $1.start }
        for mapping in sorted {
            let (number, path) = (mappings[mapping], strings[mapping.path])
            message.add(Field.mapping) {
                $0.add(1, number)
                $0.add(2, mapping.start)
                $0.add(3, mapping.end)
                $0.add(4, mapping.fileOffset)
                $0.add(5, path)
                // The names are here; pprof need not look for them.
                $0.add(7, 1)
            }
        }
    }

    private mutating func addLocations() {
        for (index, location) in locations.values.enumerated() {
            var mapping = 0
            var address: UInt64 = 0
            var line: UInt32 = 0
            var function: Function?
            switch location {
            case .site(let file, let siteLine):
                line = siteLine
                function = Function(name: "\(file):\(line)", system: "", file: file)
            case .address(let place):
                address = place
                mapping = symbols.mapping(place).map { mappings[$0] } ?? 0
                function = symbols[place].map {
                    Function(name: $0.name, system: $0.symbol, file: "")
                }
            case .unknown:
                function = Function(name: "(unknown)", system: "", file: "")
            }
            let number = function.map { functions[$0] }
            message.add(Field.location) { message in
                message.add(1, index + 1)
                message.add(2, mapping)
                message.add(3, address)
                if let number {
                    message.add(4) {
                        $0.add(1, number)
                        $0.add(2, line)
                    }
                }
            }
        }
    }

    private mutating func addFunctions() {
        for (index, function) in functions.values.enumerated() {
            let (name, system) = (strings[function.name], strings[function.system])
            let file = strings[function.file]
            message.add(Field.function) {
                $0.add(1, index + 1)
                $0.add(2, name)
                $0.add(3, system == 0 ? name : system)
                $0.add(4, file)
            }
        }
    }
}

/// Numbers for values, in the order in which they come.
private struct Numbering<Value: Hashable> {
    private(set) var values: [Value] = []
    private let first: Int
    private var numbers: [Value: Int] = [:]

    init(first: Int) {
        self.first = first
    }

    subscript(value: Value) -> Int {
        mutating get {
            if let number = numbers[value] { return number }
            let number = values.count + first
            values.append(value)
            numbers[value] = number
            return number
        }
    }
}

extension ProfileReading {
    /// The profile as a file for pprof.
    package func pprof() -> [UInt8] {
        let places = samples.flatMap { [$0.holder, $0.waiter] }
        return GzipFile.bytes(PprofProfile.bytes(self, Symbols(of: places.flatMap(\.addresses))))
    }
}
