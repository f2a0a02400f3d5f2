// All pages but the first, as one file.
export { default as Decisions } from './Decisions/Decisions.svelte';
export { default as Models } from './Models/Models.svelte';
export { default as Memory } from './Memory/Memory.svelte';
export { default as Capacity } from './Capacity/Capacity.svelte';
export { default as Apps } from './Apps/Apps.svelte';
export { default as Health } from './Health/Health.svelte';
export { default as Settings } from './Settings/Settings.svelte';

// What the first page shows in a large window only.
export { default as LastHour } from './Memory/LastHour.svelte';
