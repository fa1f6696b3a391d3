import { FORMATS } from '../keys/formats.ts';

/** Returns the name of the program that a driver is for. */
export function titleOf(driver: string): string {
  return FORMATS.find(({ name }) => name === driver)?.label ?? driver;
}

/** What the state of a name server means for a person, if it needs one. */
export const TROUBLES: Readonly<Record<string, string>> = {
  failed: 'Keys cannot be delivered',
  open: 'It accepts requests that are not signed',
  prepared: 'Its file is complete, and not loaded yet',
  blocked: 'A change would remove most of its keys',
  held: 'Delivery is held',
  paused: 'Delivery is paused, so changes wait, and deleted keys work on it',
};
