import { mount } from 'svelte';
import App from './App.svelte';
import './tokens.css';
import './base.css';
import { theme } from './lib/theme.svelte';

theme.start(); // before the first paint
mount(App, { target: document.getElementById('app')! });
