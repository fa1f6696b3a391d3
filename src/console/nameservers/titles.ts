import { FORMATS } from '../keys/formats.ts';

/** Returns the name of the program that a driver is for. */
export function titleOf(driver: string): string {
  return FORMATS.find(({ name }) => name === driver)?.label ?? driver;
}
