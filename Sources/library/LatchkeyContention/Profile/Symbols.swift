import CLatchkeySystem
import Foundation

/// The functions of this process to which some addresses belong.
///
/// The dynamic linker knows exported symbols only, which a program has hardly any of. So the names
/// come from the symbol tables of the mapped files. A file without one, and an address outside of
/// all files, have no names.
struct Symbols {
    struct Function {
        /// For people: without generic arguments and parameters.
        var name: String
        var symbol: String

        /// Whether it is one of the modules that the lock and its meter are made of, or of Swift's
        /// own, through which they call each other.
        var isOfLock: Bool {
            name == FunctionName.thunk || symbol.hasPrefix("latchkey_system_")
                || symbol.hasPrefix("$ss")
                || Self.modules.contains { symbol.hasPrefix("$s\($0.utf8.count)\($0)") }
        }

        private static let modules = [
            "LatchkeySync", "LatchkeyStrategies", "LatchkeyContention", "LatchkeyMetering",
        ]
    }

    /// A part of a file in memory.
    struct Mapping: Hashable {
        var start: UInt64
        var end: UInt64
        var fileOffset: UInt64
        var path: String
    }

    private var functions: [UInt64: Function] = [:]
    private var mappings: [UInt64: Mapping] = [:]

    /// Nothing is known.
    init() {}

    /// Looks the addresses up.
    init(of addresses: some Sequence<UInt64>) {
        let addresses = Set(addresses)
        guard !addresses.isEmpty else { return }
        let maps = Self.executableMappings
        for address in addresses {
            mappings[address] = maps.first { $0.start <= address && address < $0.end }
        }
        for (path, entries) in Dictionary(grouping: mappings, by: \.value.path) {
            guard let file = ELFFile(path: path) else { continue }
            let places = entries.compactMap { address, mapping in
                file.virtualAddress(ofOffset: address - mapping.start + mapping.fileOffset)
                    .map { (address, $0) }
            }
            let symbols = file.symbols(at: places.map(\.1))
            for (address, place) in places {
                guard let symbol = symbols[place] else { continue }
                functions[address] = Function(
                    name: FunctionName.short(FunctionName.demangled(symbol) ?? symbol),
                    symbol: symbol
                )
            }
        }
    }

    /// The function of an address.
    subscript(address: UInt64) -> Function? { functions[address] }

    /// The mapping of an address.
    func mapping(_ address: UInt64) -> Mapping? { mappings[address] }

    /// A line of proc_pid_maps(5) is `start-end permissions offset device inode path`.
    private static var executableMappings: [Mapping] {
        // Piece by piece: the file says that it is empty, and changes while it is read.
        let file = FileHandle(forReadingAtPath: "/proc/self/maps")
        let data = (try? file?.readToEnd()) ?? Data()
        let text = String(decoding: data, as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count == 6, fields[1].contains("x") else { return nil }
            let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            let path = fields[5].drop { $0 == " " }
            guard bounds.count == 2, path.hasPrefix("/"), let offset = UInt64(fields[2], radix: 16)
            else { return nil }
            return Mapping(
                start: bounds[0],
                end: bounds[1],
                fileOffset: offset,
                path: String(path)
            )
        }
    }
}
