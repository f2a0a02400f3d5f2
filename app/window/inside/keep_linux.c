//go:build linux && desktop && production

#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

#include "_cgo_export.h"

// decide answers the web view's question whether it may go somewhere.
static gboolean decide(WebKitWebView *view, WebKitPolicyDecision *decision, WebKitPolicyDecisionType type, gpointer unused)
{
	if (type != WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION && type != WEBKIT_POLICY_DECISION_TYPE_NEW_WINDOW_ACTION)
		return FALSE; // an answer that came from where it may go
	WebKitNavigationAction *action = webkit_navigation_policy_decision_get_navigation_action(WEBKIT_NAVIGATION_POLICY_DECISION(decision));
	const char *uri = webkit_uri_request_get_uri(webkit_navigation_action_get_request(action));
	// A dropped address and the menu's "open" are nobody's script, and count as
	// no gesture of the page's user either.
	int wanted = webkit_navigation_action_is_user_gesture(action)
		|| webkit_navigation_action_get_navigation_type(action) == WEBKIT_NAVIGATION_TYPE_LINK_CLICKED;
	if (mayLoad((char *)uri, wanted))
		return FALSE;
	webkit_policy_decision_ignore(decision);
	return TRUE;
}

// lost is told that the process which draws the page has ended.
static void lost(WebKitWebView *view, WebKitWebProcessTerminationReason reason, gpointer unused)
{
	const char *uri = webkit_web_view_get_uri(view);
	if (pageLost((char *)(uri ? uri : ""), reason == WEBKIT_WEB_PROCESS_EXCEEDED_MEMORY_LIMIT))
		webkit_web_view_reload(view); // starts another process; cookies are in a third one
}

// find looks for the web view below a widget.
static void find(GtkWidget *widget, gpointer found)
{
	if (WEBKIT_IS_WEB_VIEW(widget))
		*(GtkWidget **)found = widget;
	else if (GTK_IS_CONTAINER(widget))
		gtk_container_forall(GTK_CONTAINER(widget), find, found);
}

// attach runs on GTK's thread, once there is a window.
static gboolean attach(gpointer unused)
{
	GtkWidget *view = NULL;
	GList *windows = gtk_window_list_toplevels();
	for (GList *w = windows; w != NULL; w = w->next)
		find(GTK_WIDGET(w->data), &view);
	g_list_free(windows);
	if (view == NULL)
		g_error("there is no web view to guard"); // ends the window: the browser is opened instead
	g_signal_connect(view, "decide-policy", G_CALLBACK(decide), NULL);
	g_signal_connect(view, "web-process-terminated", G_CALLBACK(lost), NULL);
	return G_SOURCE_REMOVE;
}

void keep_inside(void)
{
	// Before GTK draws or WebKit tells anything.
	g_idle_add_full(G_PRIORITY_HIGH, attach, NULL, NULL);
}
