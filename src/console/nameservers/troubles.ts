/** What the state of a name server means for a person, if it needs one. */
export const TROUBLES: Readonly<Record<string, string>> = {
  failed: 'Keys cannot be delivered',
  open: 'It accepts requests that are not signed',
  prepared: 'Its file is complete, and not loaded yet',
  blocked: 'A change would remove most of its keys',
  held: 'Delivery is held',
  paused: 'Delivery is paused, so changes wait, and deleted keys work on it',
};
