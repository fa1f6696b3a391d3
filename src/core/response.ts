import {
  perType,
  shownFields,
  type Operation,
  type Resource,
  type ResourceType,
} from './resource.ts';
import type { Settings } from './settings.ts';

type ResponseSettings = Pick<Settings, 'pendingStatus'>;

export function pendingMembers(
  type: ResourceType,
  operation: Operation,
  { pendingStatus }: ResponseSettings,
): Partial<Resource> | undefined {
  return pendingStatus ? type.pending?.[operation] : undefined;
}

/** `usual` is the status for most types. */
export function successStatus(
  type: ResourceType,
  operation: Operation,
  settings: ResponseSettings,
  usual: number,
): number {
  const isPending = pendingMembers(type, operation, settings) !== undefined;
  return isPending ? 202 : (type.statuses?.[operation] ?? usual);
}

/** Returns the names of the fields that callers see only with the right from `revealRight`. */
export const secretFields = perType((type): readonly string[] =>
  shownFields(type).filter((name) => type.fields[name]?.secret === true),
);

export const revealRight = perType((type) =>
  secretFields(type).length > 0 ? `${type.collection}:reveal` : undefined,
);
