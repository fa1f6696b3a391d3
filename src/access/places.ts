import { placeOf, type Origin, type ReadIncluded } from '../formats/reader.ts';

export type PlaceOf = (origin: Origin) => string;

/** Returns how the places of a configuration are named whose main file is `path`. */
export function placesOf(path: string): PlaceOf {
  return (origin) => (origin.file === undefined ? `${path}:${origin.line}` : placeOf(origin));
}

/**
 * Returns how the places of a configuration are named, the reader of its included files, and the
 * list to which this reader adds each file that it cannot read. A pattern may match no file here,
 * although it matches some on the name server: `hasEmptyInclude` tells whether one did.
 */
export function placesIn(path: string, include: ReadIncluded = () => []) {
  const unread: string[] = [];
  let empty = 0;
  const at = placesOf(path);
  const read: ReadIncluded = (statement) => {
    const files = include(statement);
    if (files.length === 0) empty += 1;
    if (files.length === 0 && !/[*?[{]/.test(statement.pattern))
      unread.push(`'${statement.pattern}' (${at(statement)})`);
    return files;
  };
  return { placeOf: at, read, unread, hasEmptyInclude: () => empty > 0 };
}
