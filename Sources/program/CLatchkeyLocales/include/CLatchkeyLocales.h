// ICU's data: the names, calendars and rules of languages and countries. Foundation brings ICU
// into a program that is linked statically, and 34 MB of its data. The program uses none of it, and
// a tidy rule keeps that so: this target puts an empty set in its place. Only the program may link
// it, no library for others.

#ifndef CLATCHKEYLOCALES_H
#define CLATCHKEYLOCALES_H

#endif
