import { RECORD_FILTERS, type RecordFilters } from '../../domain/audit/trail.ts';
import type { SqlCondition, SqlValue } from '../sql/sql.ts';

/** Returns the SQL conditions of filters, each with ` AND ` before it. */
export function conditionOf(filters: RecordFilters): SqlCondition {
  const texts: string[] = [];
  const parameters: SqlValue[] = [];
  const add = (text: string, value: string | undefined) => {
    if (value === undefined) return;
    texts.push(` AND ${text}`);
    parameters.push(value);
  };
  for (const name of RECORD_FILTERS) {
    const value = filters[name];
    if (name === 'action' && value?.includes('*') === true)
      add("action LIKE ? ESCAPE '\\'", likePattern(value));
    else add(`${name} = ?`, value);
  }
  add('at >= ?', filters.after);
  add('at < ?', filters.before);
  return { text: texts.join(''), parameters };
}

function likePattern(pattern: string): string {
  return pattern
    .toLowerCase()
    .replaceAll(/[%_\\]/g, '\\$&')
    .replaceAll(/\*+/g, '%');
}
