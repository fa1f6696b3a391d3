import { suggestion } from './text/suggestion.ts';
import { looksLikeName, shorten } from './text/token-form.ts';
import type { Problem } from './error-entry.ts';
import { isObject, type Kind } from './field.ts';

/**
 * Returns a problem of an object in a configuration file, of the kind `kind`, with what a person
 * probably meant. An unknown member whose name may be a secret in the wrong place is only numbered.
 */
export function settingProblem(
  { schema: { properties = {} } }: Kind,
  value: unknown,
  problem: Problem,
): Problem {
  const { path, message, validator } = problem;
  const [first] = path;
  if (path.length !== 1 || first === undefined || !isObject(value)) return problem;
  const name = String(first);
  if (validator === 'enum') {
    const meant = suggestion(String(value[name]), (properties[name]?.enum ?? []).map(String));
    return { ...problem, message: message + meant };
  }
  if (validator !== 'additionalProperties') return problem;
  if (looksLikeName(name))
    return { ...problem, message: message + suggestion(name, Object.keys(properties)) };
  const number = Object.keys(value).findIndex((each) => shorten(each) === name) + 1;
  return { ...problem, path: [], message: `member ${number} is not a known property` };
}
