"""Groups seen from outside."""

from membership_client.admin.group_admin import GroupAdmin
from membership_client.admin.views import GroupView, MemberView, Wait

__all__ = ["GroupAdmin", "GroupView", "MemberView", "Wait"]
