// ICU's data: the names, calendars and rules of languages and countries. Foundation links ICU and
// 34 MB of its data into a static program. The program uses none of it, and a tidy rule keeps that
// so: this target replaces it by an empty set. Only the program may link it, not a library for
// others.

#ifndef CLATCHKEYLOCALES_H
#define CLATCHKEYLOCALES_H

#endif
